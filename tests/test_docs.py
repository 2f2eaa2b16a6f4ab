"""What the documents print works as printed, and what they name is there."""

import re
from pathlib import Path

import keras
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))


def test_the_code_about_the_other_models_runs(monkeypatch, capsys):
    keras.utils.set_random_seed(0)
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {}
    for block in blocks:
        if not re.search(r"\.from_\w+\(\"", block):  # needs what one downloads
            exec(compile(block, "docs/models.md", "exec"), names)
    printed = capsys.readouterr().out
    assert printed.startswith("We ")
    assert "'answer': 'Anna'" in printed
    assert printed.strip().endswith("(1, 3)")


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert link.startswith("https://") or (path.parent / link).exists(), link


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_script_and_benchmark_is_there(path):
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"\b((?:scripts|benchmarks|notebooks)/[\w/]+\.\w+)", text):
        assert (ROOT / name).exists(), name


BLOCKS = re.findall(
    r"```python\n# (Both|Keras \d)\n(.*?)```",
    (ROOT / "docs/keras3.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


@pytest.mark.parametrize("i", range(1, len(BLOCKS)))
def test_what_is_of_keras_2_fails_and_what_is_of_keras_3_works(i, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    kind, code = BLOCKS[i]
    names = {}
    exec(BLOCKS[0][1], names)
    if kind == "Keras 3":
        exec(code, names)
        return
    with pytest.raises((AttributeError, ImportError, TypeError, ValueError)):
        exec(code, names)
