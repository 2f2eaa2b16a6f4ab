"""Languages outside the Latin script as a user meets them: from the raw file to a translation."""

import itertools

import pytest
from run_script import run_script

RUSSIAN = (
    {"Я": "I", "Мы": "We", "Они": "They", "Дети": "The children"},
    {"читаем": "read", "поём": "sing", "едим": "eat", "спим": "sleep"},
    {"дома!": "at home!", "здесь!": "here!", "утром!": "in the morning!", "вечером!": "at night!"},
)
CHINESE = (
    {"我": "I", "我们": "We", "他们": "They", "孩子们": "The children"},
    {"早上": "in the morning", "晚上": "at night", "今天": "today", "明天": "tomorrow"},
    {"看书。": "read", "唱歌。": "sing", "吃饭。": "eat", "睡觉。": "sleep"},
)


def pairs(parts, gap):
    """Returns all combinations of the words of both languages."""
    for words in itertools.product(*(part.items() for part in parts)):
        foreign, english = zip(*words, strict=True)
        yield gap.join(foreign), " ".join(english)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "gap", "tokens"), [(RUSSIAN, " ", "tokens"), (CHINESE, "", "subwords (BPE)")]
)
def test_from_a_raw_file_to_a_translation(parts, gap, tokens, tmp_path):
    lines = [f"{foreign}\t{english}\n" for foreign, english in pairs(parts, gap)]
    (tmp_path / "raw.tsv").write_text("".join(lines), encoding="utf-8")
    keep = ["--keep-letters", "--keep-case", "--keep-punctuation"]
    run_script("prepare_data.py", "raw.tsv", "pairs.tsv", *keep, folder=tmp_path)
    sizes = ["--d-model", "32", "--d-ff", "64", "--n", "1", "--h", "2", "--batch-size", "8"]
    options = ["--data", "pairs.tsv", "--epochs", "40", "--rate", "0", "--vocab-size", "60"]
    output = run_script("train.py", *options, *sizes, folder=tmp_path)
    assert f"target {tokens}\n" in output and "Warning" not in output
    sources, targets = zip(*(line.rstrip("\n").split("\t") for line in lines), strict=True)
    (tmp_path / "sources.txt").write_text("\n".join(sources), encoding="utf-8")
    printed = run_script("translate.py", "runs/pairs", "--file", "sources.txt", folder=tmp_path)
    # Some of the 64 sentences were held out.
    right = [a == b for a, b in zip(printed.splitlines(), targets, strict=True)]
    assert sum(right) > 40
