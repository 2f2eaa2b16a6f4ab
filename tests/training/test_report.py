"""The report on the translations of a test set, and its page."""

import json

import pytest
from tiny import PAIRS, WORDS, make_dataset
from translating import shared_translate

from keras_transformer import evaluation
from keras_transformer.evaluation import score
from keras_transformer.inference.translate import Hypothesis
from keras_transformer.pages.report_page import write_report
from keras_transformer.training.report import make_report

ROWS = [(source, [target, target.upper()]) for source, target in PAIRS[:40]]


class Fixed:
    """Translates word by word, and gets the sentences of four words wrong."""

    def __init__(self, wrong=4):
        self.source_tokenizer = make_dataset().source_tokenizer
        self.wrong = wrong

    def __call__(self, sentences, **options):
        return [
            "falsch" if len(words) >= self.wrong else " ".join(WORDS[word] for word in words)
            for words in map(str.split, sentences)
        ]

    def hypotheses(self, sentences, return_attention, **options):
        return [[Hypothesis(x, None, [], [])] for x in self(sentences)]


def test_the_report_is_right_about_a_known_system():
    rows = [(source, [target]) for source, target in PAIRS]
    report = make_report(Fixed(4), rows, against=Fixed(3), samples=50)
    expected = score(Fixed(4)([x for x, _ in rows]), [y for _, y in rows])
    chrf = report["scores"]["chrF"]
    assert chrf["score"] == expected.chrf and chrf["low"] < expected.chrf < chrf["high"]
    assert chrf["other"] < chrf["low"] and chrf["p"] < 0.05
    assert report["exact"] == expected.exact and report["sentences"] == len(rows)
    assert all(x["translation"] == "falsch" for x in report["worst"])
    assert sum(group["sentences"] for group in report["by_length"]) == len(rows)


def test_what_would_fail_after_translating_is_refused_before(tmp_path, monkeypatch):
    def fail(tokenize):
        raise RuntimeError("Japanese needs MeCab")

    with pytest.raises(ValueError, match=r"such as report\.html\. Received: .*report\.json$"):
        write_report(tmp_path / "report.json", {}, "title")
    monkeypatch.setattr(evaluation, "BLEU", fail)
    with pytest.raises(ImportError, match=r"needs MeCab\. Received: tokenize='ja-mecab'$"):
        make_report(None, ROWS, "ja-mecab")


def test_equal_systems_do_not_differ():
    report = make_report(Fixed(), ROWS, against=Fixed(), samples=50)
    assert {x["p"] for x in report["scores"].values()} == {1.0}


def test_groups_are_the_sentences_between_limits():
    rows = [("one " * n, ["eins " * n]) for n in (1, 5, 6, 10, 11, 40)]
    groups = make_report(Fixed(99), rows, samples=10)["by_length"]
    assert [(x["group"], x["sentences"]) for x in groups] == [
        ("up to 5 words", 2),
        ("6 to 10 words", 2),
        ("11 to 15 words", 1),
        ("more than 30 words", 1),
    ]


def test_unknown_words_are_a_group_of_their_own():
    rows = [("one", ["eins"]), ("zebra", ["Zebra"])]
    translate = Fixed(99)
    translate.__class__ = type("Echo", (Fixed,), {"__call__": lambda self, x, **o: list(x)})
    groups = make_report(translate, rows, samples=10)["by_unknown"]
    assert [x["group"] for x in groups] == ["none", "more than 25%"]


@pytest.mark.slow
def test_the_worst_sentences_show_what_the_model_attended_to():
    report = make_report(shared_translate(), ROWS, samples=10, beam_size=2)
    assert all(x["attended"][-1][0] == "[END]" for x in report["worst"])


def test_the_page_and_the_json_say_the_same(tmp_path):
    rows = [*ROWS, ("one <script>", ["<b>"])]
    translate = Fixed(1)
    report = make_report(translate, rows, samples=10)
    write_report(tmp_path / "report.html", report, "A <run>")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == report
    assert "A &lt;run&gt;" in page and "<script" not in page and "falsch" in page
    assert f"{report['scores']['chrF']['score']:.1f}" in page
