"""The report on sentence pairs: what it warns about, and what it does not."""

import pytest

from keras_transformer.data.corpus import corpus_path
from keras_transformer.data.pair_report import pair_report
from keras_transformer.data.pairs import read_pairs

PAIRS = read_pairs(corpus_path())[:1000]
SOURCES, TARGETS = zip(*PAIRS, strict=True)


def warnings(sources, targets):
    lines = pair_report(list(zip(sources, targets, strict=True)))
    return [line.removeprefix("Warning: ") for line in lines if line.startswith("Warning: ")]


def test_good_pairs_cause_no_warning():
    assert not warnings(SOURCES, TARGETS)
    assert not warnings(SOURCES[:1], TARGETS[:1])
    chinese = ["".join(chr(0x4E00 + ord(c) % 64) for c in x.replace(" ", "")) for x in TARGETS]
    assert not warnings(SOURCES, chinese)


@pytest.mark.parametrize(
    ("sources", "targets", "expected"),
    [
        (SOURCES, [*TARGETS[1:], TARGETS[0]], "the lengths of the two sides hardly correlate"),
        (SOURCES, [f"{x} now" for x in SOURCES], "both sides seem to be in the same language"),
        (
            SOURCES,
            [*SOURCES[:200], *TARGETS[200:]],
            "a tenth of the pairs have identical",
        ),
        (SOURCES, [*TARGETS[:900], *[""] * 100], "have an empty side"),
        (
            [f"{x} " * 50 for x in SOURCES],
            [f"{x} " * 50 for x in TARGETS],
            "longer than 128 words",
        ),
    ],
    ids=["shifted", "one language", "identical", "empty", "long"],
)
@pytest.mark.slow
def test_what_usually_goes_wrong_is_named(sources, targets, expected):
    found = warnings(sources, targets)
    assert any(expected in line for line in found), found


def test_the_report_counts():
    pairs = [*PAIRS, PAIRS[0], ("a", "a"), ("b", "")]
    text = "\n".join(pair_report(pairs))
    assert "1 duplicate pairs, 1 pairs with an empty side, 1 with identical sides" in text
    assert "source: " in text and "letters: Latin 100.0%" in text and SOURCES[0] in text
    assert "Greek" in pair_report([("αβγ", "x")])[0]
