"""Runs a script as a user does."""

import contextlib
import io
import os
import runpy
import sys
from pathlib import Path
from unittest import mock

import pytest

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


class Terminal(io.StringIO):
    """Somebody who types, or a screen."""

    def isatty(self):
        return True


def run_script(name, *arguments, expected=0, **options):
    """Runs a script as in a process of its own; returns its output, or its errors if expected."""
    output, errors = run_and_listen(name, *arguments, expected=expected, **options)
    return output if expected == 0 else errors


def run_and_listen(name, *arguments, expected=0, **options):
    """Runs it likewise; returns its output and what it says beside."""
    status, output, errors = watch_script(name, *arguments, **options)
    assert status == expected, output + errors
    return output, errors


def watch_script(name, *arguments, folder, text="", stdin=None, output=None):
    """Runs it however it ends; returns its status, its output and what it says beside."""
    output, errors, status = output or io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, mock.patch.dict(os.environ):
        patch.chdir(folder)
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.setattr(sys, "stdin", stdin or io.StringIO(text))
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                runpy.run_path(str(SCRIPTS / name), run_name="__main__")
            except SystemExit as end:
                status = end.code
    return status, output.getvalue(), errors.getvalue()
