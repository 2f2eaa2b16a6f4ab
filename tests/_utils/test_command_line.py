"""Printed command lines can be typed where the user is."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from quick import some_of

from keras_transformer._utils import command_line as module
from keras_transformer._utils.command_line import command_line
from keras_transformer.cli import COMMANDS

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
# The started program, the folder in PATH, the current directory, whether there is a checkout, and
# the printed command. "{tmp}" is a folder with an environment in bin/.
CASES = {
    "script": ("{scripts}/train.py", "bin", "{root}", True, "python scripts/translate.py"),
    "script, not activated": (
        "{scripts}/train.py", "", "{root}", True, "{tmp}/bin/python scripts/translate.py"
    ),
    "environment below": (
        "{scripts}/train.py", "", "{tmp}", True, "bin/python {scripts}/translate.py"
    ),
    "another environment activated": (
        "{scripts}/train.py", "other", "{tmp}", True, "bin/python {scripts}/translate.py"
    ),
    "command of a checkout": ("{tmp}/bin/keras-transformer", "bin", "{tmp}", True, "{command}"),
    "command of a checkout, not activated": (
        "{tmp}/bin/keras-transformer", "", "{tmp}", True, "bin/python {scripts}/translate.py"
    ),
    "command": ("{tmp}/bin/keras-transformer", "bin", "{tmp}", False, "{command}"),
    "command, not activated": (
        "{tmp}/bin/keras-transformer", "", "{tmp}", False, "bin/{command}"
    ),
    "own program": ("train.py", "bin", "{tmp}", True, "{command}"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_command_is_found_by_the_shell(tmp_path, monkeypatch, case):
    for folder in ("bin", "other"):
        (tmp_path / folder).mkdir()
        for name in ("python", "keras-transformer"):
            (tmp_path / folder / name).write_text("#!/bin/sh\n")
            (tmp_path / folder / name).chmod(0o755)
    names = {
        "scripts": SCRIPTS,
        "root": SCRIPTS.parent,
        "tmp": tmp_path,
        "command": "keras-transformer translate",
    }
    program, path, folder, checkout, expected = (
        x if isinstance(x, bool) else x.format(**names) for x in case
    )
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [program])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    monkeypatch.setenv("PATH", str(tmp_path / path) if path else "/nowhere")
    if not checkout:
        monkeypatch.setattr(module, "_SCRIPTS", tmp_path / "scripts")
    line = command_line("translate", Path("runs/a b"), "--", "It's late.")
    assert line.startswith(f"{expected} ")
    assert shlex.split(line)[-3:] == ["runs/a b", "--", "It's late."]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_subcommand_has_its_script(monkeypatch, name):
    monkeypatch.setenv("PATH", "/nowhere")
    script = shlex.split(command_line(name))[1]
    assert f'run_command("{name}"' in Path(script).read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", some_of(["checkout", "elsewhere"], quick=["elsewhere"]))
@pytest.mark.slow
def test_a_printed_command_runs(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(SCRIPTS.parent if folder == "checkout" else tmp_path)
    line = command_line("average-checkpoints", "runs/missing run")
    done = subprocess.run(line, shell=True, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2 and "runs/missing run" in done.stderr, done.stderr
