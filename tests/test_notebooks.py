"""The notebooks are whole: what their sources say is what was run, and it went well.

None is run here; `make notebooks` does that.
"""

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
SOURCES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
MOST_BYTES = 300_000
# What depends on the machine, or is the chatter of libraries.
FOREIGN = (
    r"/(home|root|tmp|work|Users)/",
    r"\bms/step\b",
    r"tokens/s\b",
    r" at 0x[0-9a-f]+",
    "\x1b",
)

every_notebook = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


def read_source(source):
    """Pairs of a kind, "markdown" or "code", and a text."""
    _, *parts = re.split(r"^# %%(.*)\n", source.read_text(encoding="utf-8"), flags=re.MULTILINE)
    cells = []
    for mark, text in zip(parts[::2], parts[1::2], strict=True):
        if mark.strip() == "[markdown]":
            cells.append(("markdown", re.sub(r"^# ?", "", text, flags=re.MULTILINE).strip("\n")))
        else:
            assert not mark.strip(), mark
            cells.append(("code", text.strip("\n")))
    return cells


def read_built(source):
    return json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]


def outputs(source):
    return [output for cell in read_built(source) for output in cell.get("outputs", ())]


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
def test_what_was_run_is_what_is_written(source):
    built = read_built(source)
    found = [(cell["cell_type"], "".join(cell["source"])) for cell in built]
    assert found == read_source(source), "run `make notebooks`"
    counts = [cell["execution_count"] for cell in built if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))


@every_notebook
def test_nothing_went_wrong(source):
    for output in outputs(source):
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr"


@every_notebook
def test_the_outputs_are_small_and_of_no_machine(source):
    assert source.with_suffix(".ipynb").stat().st_size < MOST_BYTES
    for output in outputs(source):
        for pattern in FOREIGN:
            assert not re.search(pattern, text_of(output)), pattern


@every_notebook
def test_it_begins_with_a_question(source):
    kind, text = read_source(source)[0]
    assert kind == "markdown"
    assert re.match(r"# \S.*\?\n", text)


@every_notebook
def test_it_has_an_equation_a_picture_an_experiment_and_sources(source):
    text = "\n".join(text for kind, text in read_source(source) if kind == "markdown")
    assert re.search(r"\$\$.+?\$\$", text, re.DOTALL)
    assert "Try it" in text
    assert "## Where it comes from" in text
    assert any("image/png" in output.get("data", {}) for output in outputs(source))


@every_notebook
def test_every_exercise_has_a_solution_that_is_checked(source):
    cells = read_source(source)
    texts = [text for _, text in cells]
    [exercises] = [text for text in texts if text.startswith("## Exercises")]
    number = len(re.findall(r"^\d\. ", exercises, re.MULTILINE))
    assert 2 <= number <= 3
    for i in range(1, number + 1):
        [place] = [j for j, text in enumerate(texts) if text.startswith(f"### Solution {i}")]
        kind, code = cells[place + 1]
        assert kind == "code" and re.search(r"^\s*assert ", code, re.MULTILINE)
