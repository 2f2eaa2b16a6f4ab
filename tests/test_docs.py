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
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert link.startswith("https://") or (path.parent / link).exists(), link


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_script_and_benchmark_is_there(path):
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"\b((?:scripts|benchmarks|notebooks)/[\w/]+\.\w+)", text):
        assert (ROOT / name).exists(), name
