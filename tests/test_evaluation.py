"""BLEU and chrF: scores and signatures equal those of sacrebleu."""

import pytest
from sacrebleu.metrics import BLEU, CHRF

from keras_transformer.evaluation import score

TRANSLATIONS = [
    "The cat sits on the mat, doesn't it?",
    "He goes to the school every day.",
    "I have seen two green birds in a tree.",
]
REFERENCES = [
    "The cat sits on the mat, doesn't it?",
    "He goes to school every single day.",
    "I saw two green birds in the tree.",
]


def one_reference_each(references):
    return [[reference] for reference in references]


def test_languages_without_spaces_are_scored_by_character():
    chinese = ["我想喝水", "你在哪里工作"]
    scores = score(chinese, one_reference_each(chinese))
    assert scores.bleu == pytest.approx(100) and "tok:char" in scores.bleu_signature
    assert "tok:none" in score(chinese, one_reference_each(chinese), "none").bleu_signature
    assert "tok:13a" in score(["水 是 water"], [["水 是 water"]]).bleu_signature


def test_one_reference_equals_sacrebleu():
    scores = score(TRANSLATIONS, one_reference_each(REFERENCES))
    assert scores.bleu == BLEU().corpus_score(TRANSLATIONS, [REFERENCES]).score
    assert scores.chrf == CHRF().corpus_score(TRANSLATIONS, [REFERENCES]).score
    assert 10 < scores.bleu < 90 and scores.bleu < scores.chrf < 100


def test_two_references_equal_sacrebleu():
    others = ["A cat is on the mat.", "Every day he goes to the school.", "I have seen birds."]
    both = [list(pair) for pair in zip(REFERENCES, others, strict=True)]
    scores = score(TRANSLATIONS, both)
    assert scores.bleu == BLEU().corpus_score(TRANSLATIONS, [REFERENCES, others]).score
    assert scores.bleu > score(TRANSLATIONS, one_reference_each(REFERENCES)).bleu
    assert "nrefs:2" in scores.bleu_signature


def test_tokenized_text_can_be_scored():
    scores = score(TRANSLATIONS, one_reference_each(REFERENCES), tokenize="none")
    expected = BLEU(tokenize="none", force=True).corpus_score(TRANSLATIONS, [REFERENCES]).score
    assert scores.bleu == expected != score(TRANSLATIONS, one_reference_each(REFERENCES)).bleu
    assert "tok:none" in scores.bleu_signature


def test_exact_is_the_share_of_translations_that_equal_a_reference():
    references = [["Wir gehen."], ["Er kommt.", "Er kommt heute."], ["Hallo!"], ["Nein."]]
    translations = ["wir gehen.", "Er kommt heute", "Hallo.", "Nein, danke."]
    assert score(translations, references).exact == 50  # ignores the full stop, but not capitals


def test_matching_any_reference_scores_100():
    references = one_reference_each(REFERENCES)
    references[1] = ["Something else that is wrong.", TRANSLATIONS[1], "And more of it."]
    references[2] = [TRANSLATIONS[2]]
    scores = score(TRANSLATIONS, references)
    assert scores.bleu == pytest.approx(100) and scores.chrf == pytest.approx(100)
    assert score(TRANSLATIONS, [x[:1] for x in references]).bleu < 90


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_signature_describes_the_computation(metric):
    ragged = [REFERENCES, *one_reference_each(REFERENCES[1:])]
    for references, nrefs in ((one_reference_each(REFERENCES), "nrefs:1"), (ragged, "nrefs:var")):
        scores = score(TRANSLATIONS, references)
        signature = getattr(scores, f"{metric}_signature")
        assert signature.startswith(f"{nrefs}|case:mixed|") and "|version:" in signature
        assert signature in str(scores)


def test_str_shows_all_scores():
    lines = str(score(REFERENCES, one_reference_each(REFERENCES))).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["BLEU 100.0", "chrF 100.0", "exact 100.0%"]


@pytest.mark.parametrize(
    ("translations", "references"),
    [
        ([], []),
        (["a"], []),
        ([], [["a"]]),
        (["a", "b"], [["a"]]),
        (["a", "b"], [["a"], []]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_missing_references_are_refused(translations, references):
    numbers = rf"{len(translations)} translations and {len(references)} references"
    with pytest.raises(ValueError, match=rf"Received: {numbers} such as "):
        score(translations, references)
