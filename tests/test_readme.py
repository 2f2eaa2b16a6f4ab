"""The quickstart in the README works, and the commands and files it names exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import pytest

from keras_transformer import TransformerModel

ROOT = Path(__file__).resolve().parents[1]


def read(path):
    return path.read_text(encoding="utf-8")


README = read(ROOT / "README.md")
DOCUMENTS = [ROOT / "README.md", *((ROOT / "docs").glob("*.md"))]
CODE = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]


def test_the_readme_is_read_in_two_minutes():
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    assert len(prose.split()) <= 650
    assert len([line for line in CODE.splitlines() if line]) <= 13


@pytest.mark.exhaustive  # .ci/train runs it, too
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="the README's backend")
def test_the_quickstart_trains_a_translator(tmp_path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    loss, accuracy = re.search(r"\[([\d.]+), ([\d.]+)\] \(32, ", process.stdout).groups()
    assert float(loss) < 2.0 and float(accuracy) > 0.85  # the loss is smoothed
    model = keras.saving.load_model(tmp_path / "translator.keras")
    assert isinstance(model, TransformerModel)
    printed = process.stdout.splitlines()[-1]
    assert re.fullmatch(r"\['Meine Schwester .+', 'Wo ist .+\?'\]", printed), printed


def test_every_command_exists():
    makefile = read(ROOT / "Makefile")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    for target in re.findall(r"`make (results-[a-z_\d]+)", "".join(map(read, DOCUMENTS))):
        assert re.search(rf"\b{target}\b", results_targets(makefile)), target
    named = set(re.findall(r"scripts/(\w+\.py)", read(ROOT / "docs" / "commands.md")))
    assert named == {path.name for path in (ROOT / "scripts").glob("[!_]*.py")}


def results_targets(makefile):
    """Returns the text of the rules that make tables of results, with the variable replaced."""
    speed = re.search(r"^SPEED = (.*)$", makefile, re.MULTILINE)[1].split()
    names = " ".join(f"results-{name}" for name in speed)
    return " ".join([names, *re.findall(r"^(results-.*?):", makefile, re.MULTILINE)])


@pytest.mark.parametrize("name", ["README.md", "docs/results.md", "docs/benchmarks.md"])
def test_every_table_of_results_has_a_target_or_a_version(name):
    for section in re.split(r"^## ", read(ROOT / name), flags=re.MULTILINE):
        has_figures = re.search(r"^\|.*\d\.\d.*\|$", section, re.MULTILINE)
        if has_figures and not section.startswith("Comparison with other projects"):
            assert re.search(r"make results-|[Vv]ersion 0\.", section), section[:60]


def test_every_file_in_the_table_exists():
    section = read(ROOT / "docs" / "overview.md").split("## What is where")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`(.+?)`", row)]
    assert len(names) > 10
    for name in names:
        assert (ROOT / name).exists() or (ROOT / "keras_transformer" / name).exists(), name
