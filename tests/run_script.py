"""Runs scripts in tests as a user does."""

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
    """A text stream that reports being a terminal."""

    def isatty(self):
        return True


def run_script(name, *arguments, expected=0, **options):
    """Runs a script; returns its output, or its errors if a failure is expected."""
    output, errors = capture_script(name, *arguments, expected=expected, **options)
    return output if expected == 0 else errors


def refusal(name, *arguments, **options):
    """Runs a script that refuses its arguments; returns its message, the last line."""
    errors = run_script(name, *arguments, expected=2, **options)
    last = errors.splitlines()[-1]
    assert last.startswith(f"{name}: error: ") and errors.count("error:") == 1, errors
    return last


def capture_script(name, *arguments, folder, expected=0, text="", stdin=None, output=None):
    """Runs a script; returns its standard output and standard error."""
    output, errors, status = output or io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, mock.patch.dict(os.environ):
        patch.chdir(folder)
        patch.syspath_prepend(SCRIPTS)
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.setattr(sys, "stdin", stdin or io.StringIO(text))
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                runpy.run_path(str(SCRIPTS / name), run_name="__main__")
            except SystemExit as error:
                status = error.code
    output, errors = output.getvalue(), errors.getvalue()
    assert status == expected, output + errors
    return output, errors
