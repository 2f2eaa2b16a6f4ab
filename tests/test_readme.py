"""The quickstart in the README works, and the commands and files it names exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import pytest

from keras_transformer import RunFolder

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]


def test_the_quickstart_is_short():
    assert len([line for line in CODE.splitlines() if line]) <= 15


@pytest.mark.exhaustive  # .ci/train runs it, too
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="the README's backend")
def test_the_quickstart_trains_a_translator(tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    history = RunFolder(tmp_path / "runs" / "quickstart").read_history()
    assert history[-1]["validation_accuracy"] > 0.85
    printed = process.stdout.splitlines()[-1]
    assert re.fullmatch(r"\['Wir wollen .+', '.+\?'\]", printed), printed


def test_every_command_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    named = set(re.findall(r"scripts/(\w+\.py)", README))
    assert named == {path.name for path in (ROOT / "scripts").glob("*.py")}


def test_every_file_in_the_table_exists():
    section = README.split("## What is where")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`(.+?)`", row)]
    assert len(names) > 10
    for name in names:
        assert (ROOT / name).exists() or (ROOT / "keras_transformer" / name).exists(), name
