"""The notebooks match their sources, ran without errors and follow the same structure.

The tests do not run them; `make notebooks` does.
"""

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
SOURCES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
MAX_BYTES = 250_000
# Patterns of output that depends on the machine or comes from library logs.
MACHINE_DEPENDENT = (
    r"/(home|root|tmp|work|Users)/",
    r"\bms/step\b",
    r"tokens/s\b",
    r" at 0x[0-9a-f]+",
    "\x1b",
)

every_notebook = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


def read_source(source):
    """Returns the cells as pairs of the kind, "markdown" or "code", and the text."""
    _, *parts = re.split(r"^# %%(.*)\n", source.read_text(encoding="utf-8"), flags=re.MULTILINE)
    cells = []
    for kind, text in zip(parts[::2], parts[1::2], strict=True):
        if kind.strip() == "[markdown]":
            cells.append(("markdown", re.sub(r"^# ?", "", text, flags=re.MULTILINE).strip("\n")))
        else:
            assert not kind.strip(), kind
            cells.append(("code", text.strip("\n")))
    return cells


def read_cells(source):
    return json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]


def outputs(source):
    return [output for cell in read_cells(source) for output in cell.get("outputs", ())]


def text_of(output):
    data = output.get("data", {})
    return "".join(
        [*output.get("text", ()), *data.get("text/plain", ()), *data.get("text/html", ())]
    )


def test_the_notebooks_are_numbered():
    assert [int(source.stem[:2]) for source in SOURCES] == list(range(1, len(SOURCES) + 1))
    assert len(SOURCES) >= 10
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {source.stem for source in SOURCES}


@every_notebook
def test_executed_cells_match_the_source(source):
    cells = read_cells(source)
    found = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    assert found == read_source(source), "run `make notebooks`"
    counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))


@every_notebook
def test_outputs_contain_no_errors(source):
    for output in outputs(source):
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr"


@every_notebook
def test_outputs_are_small_and_machine_independent(source):
    assert source.with_suffix(".ipynb").stat().st_size < MAX_BYTES
    for output in outputs(source):
        for pattern in MACHINE_DEPENDENT:
            assert not re.search(pattern, text_of(output)), pattern


@every_notebook
def test_title_is_a_question(source):
    kind, text = read_source(source)[0]
    assert kind == "markdown"
    assert re.match(r"# \S.*\?\n", text)


@every_notebook
def test_has_an_equation_a_picture_an_experiment_and_references(source):
    text = "\n".join(text for kind, text in read_source(source) if kind == "markdown")
    assert re.search(r"\$\$.+?\$\$", text, re.DOTALL)
    assert "Try it" in text
    assert "## Where it comes from" in text
    assert any("image/png" in output.get("data", {}) for output in outputs(source))


@every_notebook
def test_every_question_is_answered_by_an_assertion(source):
    cells = read_source(source)
    [start] = [
        i for i, (_, text) in enumerate(cells) if re.match(r"## \w+ questions, answered", text)
    ]
    questions = [i for i, (_, text) in enumerate(cells) if re.match(r"> \*\*\d\.\*\*", text)]
    assert 2 <= len(questions) <= 3 and questions[0] == start + 1
    for index in questions:
        kind, code = cells[index + 1]
        assert kind == "code" and re.search(r"^\s*assert ", code, re.MULTILINE)
