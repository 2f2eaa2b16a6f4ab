"""What the scores promise: they are sacrebleu's."""

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


def one_each(references):
    return [[reference] for reference in references]


def test_the_same_text_scores_a_hundred():
    scores = score(REFERENCES, one_each(REFERENCES))
    assert scores.bleu == pytest.approx(100) and scores.chrf == pytest.approx(100)


def test_nothing_in_common_scores_nothing():
    scores = score(["a b c d e"], [["v w x y z"]])
    assert scores.bleu == pytest.approx(0) and scores.chrf == pytest.approx(0)


def test_one_reference_gives_what_sacrebleu_gives():
    scores = score(TRANSLATIONS, one_each(REFERENCES))
    assert scores.bleu == BLEU().corpus_score(TRANSLATIONS, [REFERENCES]).score
    assert scores.chrf == CHRF().corpus_score(TRANSLATIONS, [REFERENCES]).score
    assert 10 < scores.bleu < 90 and scores.bleu < scores.chrf < 100


def test_two_references_give_what_sacrebleu_gives():
    others = ["A cat is on the mat.", "Every day he goes to the school.", "I have seen birds."]
    both = [list(pair) for pair in zip(REFERENCES, others, strict=True)]
    scores = score(TRANSLATIONS, both)
    assert scores.bleu == BLEU().corpus_score(TRANSLATIONS, [REFERENCES, others]).score
    assert scores.bleu > score(TRANSLATIONS, one_each(REFERENCES)).bleu
    assert "nrefs:2" in scores.bleu_signature


def test_text_that_is_tokenized_already_can_be_scored():
    scores = score(TRANSLATIONS, one_each(REFERENCES), tokenize="none")
    expected = BLEU(tokenize="none", force=True).corpus_score(TRANSLATIONS, [REFERENCES]).score
    assert scores.bleu == expected != score(TRANSLATIONS, one_each(REFERENCES)).bleu
    assert "tok:none" in scores.bleu_signature


def test_any_of_the_references_counts_fully():
    references = one_each(REFERENCES)
    references[1] = ["Something else that is wrong.", TRANSLATIONS[1], "And more of it."]
    references[2] = [TRANSLATIONS[2]]
    scores = score(TRANSLATIONS, references)
    assert scores.bleu == pytest.approx(100) and scores.chrf == pytest.approx(100)
    assert score(TRANSLATIONS, [x[:1] for x in references]).bleu < 90


@pytest.mark.parametrize("measure", ["bleu", "chrf"])
def test_the_signature_tells_how_it_was_computed(measure):
    ragged = [REFERENCES, *one_each(REFERENCES[1:])]
    for references, nrefs in ((one_each(REFERENCES), "nrefs:1"), (ragged, "nrefs:var")):
        scores = score(TRANSLATIONS, references)
        signature = getattr(scores, f"{measure}_signature")
        assert signature.startswith(f"{nrefs}|case:mixed|") and "|version:" in signature
        assert signature in str(scores)


def test_shows_both_scores():
    lines = str(score(REFERENCES, one_each(REFERENCES))).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["BLEU 100.0", "chrF 100.0"]


def test_an_empty_translation_is_a_bad_one():
    scores = score(["", *REFERENCES[1:]], one_each(REFERENCES))
    assert 0 < scores.bleu < 90


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
def test_refuses_sentences_without_a_reference(translations, references):
    numbers = rf"{len(translations)} translations and {len(references)} references"
    with pytest.raises(ValueError, match=rf"Received: {numbers} such as "):
        score(translations, references)
