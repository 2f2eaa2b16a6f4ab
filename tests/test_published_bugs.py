"""The code of docs/testing.md runs: each published bug is detected with the message shown.

A block of code is expected to raise the `AssertionError` shown in the block below it, and to pass
if there is none.
"""

import doctest
import re
from pathlib import Path

import keras
import pytest

_TEXT = (Path(__file__).resolve().parents[1] / "docs/testing.md").read_text(encoding="utf-8")
_SECTIONS = re.split(r"^##+ (.*)\n", _TEXT, flags=re.MULTILINE)
_BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```\n(AssertionError: .*?)```)?", re.DOTALL)
SECTIONS = {
    title: blocks
    for title, text in zip(_SECTIONS[1::2], _SECTIONS[2::2], strict=True)
    if (blocks := _BLOCK.findall(text))
}
_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run(title, names):
    """Executes the blocks of a section, each of which must raise the error shown, or none."""
    for code, expected in SECTIONS[title]:
        message = ""
        try:
            exec(compile(code, f"docs/testing.md, {title}", "exec"), names)
        except AssertionError as error:
            message = f"AssertionError: {error}\n"
        assert doctest.OutputChecker().check_output(expected, message, _OPTIONS), (
            f"{code}\nExpected:\n{expected}\nReceived:\n{message}"
        )


@pytest.fixture
def names():
    """The names that the first block of the page defines, which all sections use."""
    keras.utils.set_random_seed(0)
    names = {"__name__": "docs"}
    exec(SECTIONS["Check your own layer"][0][0], names)
    return names


@pytest.mark.parametrize("title", SECTIONS)
@pytest.mark.filterwarnings("ignore:Layer 'encoder.*was passed an input with a mask")
def test_code_raises_the_errors_shown(title, names):
    run(title, names)


def test_each_published_bug_is_detected():
    bugs = list(SECTIONS)[1:]
    assert len(bugs) == 7
    for title in bugs:
        assert any(expected for _, expected in SECTIONS[title]), title
