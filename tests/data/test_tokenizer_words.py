"""Words of a sentence in their original spelling, and replacement of unknown words."""

import numpy as np
import pytest

from keras_transformer._utils.special_tokens import (
    END_ID,
    PADDING_ID,
    SPECIAL_TOKENS,
    START_ID,
    UNKNOWN_ID,
)
from keras_transformer.data.tokenizers import WordTokenizer

SENTENCES = [
    "Don't go!",
    "Wie geht's? 😀 Gut 😀😀! 👨‍👩‍👧 👍🏽",
    "two  spaces   here",
    "  around  ",
    "tab\there, no\u00a0break, line\nbreak",
    "cafe\u0301 go",
    "",
]


@pytest.fixture(scope="module")
def tokenizer():
    return WordTokenizer.train(SENTENCES)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_words_match_the_tokens_and_detokenize_to_the_text(tokenizer, sentence):
    words = tokenizer.words(sentence)
    assert len(words) == len(tokenizer.encode(sentence))
    assert tokenizer.detokenize(words) == " ".join(sentence.split())


@pytest.mark.parametrize(
    ("training_text", "sentence", "words"),
    [
        ("a b, c", "a  zebra, (b)", ["▁a", "▁zebra", ",", "▁(", "b", ")"]),
        ("a b, c", " “Émile” isn’t A-Z ", ["▁Émile", "▁isn’t", "▁A", "-", "Z"]),
        ("Ähre b, c", "cafe\u0301 caf\u00e9, İx", ["▁cafe\u0301", "▁caf\u00e9", ",", "▁İx"]),
        ("a b c", "Herr Strauß, Cafe\u0301 x!", ["▁Herr", "▁Strauß", "▁Cafe\u0301", "▁x"]),
        ("a b c", "Ödön — Émile-Zola's", ["▁Ödön", "▁Émile-Zola's"]),
        ("Ä b, c", "😀\tzebra\n b", ["▁😀", "▁zebra", "▁b"]),
        ("a b, c", "Łódź in-Łódź, (“Łódź", ["▁Łódź", "▁in", "-", "Łódź", ",", "▁(", "Łódź"]),
        ("a b, c", " aß-ßb 6=\u03387", ["▁aß", "-", "ßb", "▁6", "=\u0338", "7"]),
        ("a b c", '"Ja", (nein) „so“ ’s a — "b', ["▁Ja", "▁nein", "▁so", "▁s", "▁a", "▁b"]),
        ("Ä b, c", "▁ a▁b", ["▁_", "▁a_b"]),
        ("a", "— “", []),
        ("a", "", []),
    ],
)
def test_known_and_unknown_words_keep_their_spelling(training_text, sentence, words):
    tokenizer = WordTokenizer.train([training_text])
    assert len(tokenizer.encode(sentence)) == len(words)
    assert tokenizer.words(sentence) == words


@pytest.mark.parametrize("training_text", ["a b, c", "a b c", "Ä b, c", "Äbc"])
def test_normalized_words_detokenize_to_the_normalized_sentence(training_text):
    tokenizer = WordTokenizer.train([training_text])
    alphabet = [*"aBŁéß’'“()-,_▁ 😀", "e\u0301", " Ł", " “", "\t"]
    random = np.random.default_rng(0)
    for length in range(200):
        sentence = "".join(random.choice(alphabet, length % 20))
        words = tokenizer.words(sentence)
        normalized = [x.startswith("▁") * "▁" + tokenizer.normalize(x.lstrip("▁")) for x in words]
        assert tokenizer.detokenize(normalized) == tokenizer.normalize(sentence), sentence


def test_tokens_of_ids_and_their_detokenization(tokenizer):
    ids = [*tokenizer.encode("Don't go, zebra!"), END_ID]
    tokens = ["▁Don't", "▁go", ",", "[UNK]", "!", "[END]"]
    assert tokenizer.tokens(ids) == tokenizer.tokens(iter(ids)) == tokens
    assert tokenizer.tokens(range(4)) == list(SPECIAL_TOKENS) and tokenizer.tokens([]) == []
    assert tokenizer.detokenize(tokens[:3]) == "Don't go," and tokenizer.detokenize([]) == ""


@pytest.mark.parametrize(
    ("replacements", "expected"),
    [
        ((), "[UNK] go, [UNK]!"),
        (["▁Anna"], "Anna go, [UNK]!"),
        (["Anna"], "Anna go, [UNK]!"),
        (["▁Anna", "▁O'Neil"], "Anna go, O'Neil!"),
        (["▁Anna", "O'Neil"], "Anna go,O'Neil!"),
        (["▁Anna", "▁[END]", "▁too many"], "Anna go, [END]!"),
        (iter(["▁one", "▁two"]), "one go, two!"),
    ],
)
def test_unknown_words_can_be_replaced(tokenizer, replacements, expected):
    ids = [START_ID, *tokenizer.encode("zebra go, zebra!"), PADDING_ID, END_ID, UNKNOWN_ID]
    assert tokenizer.decode(ids, replacements) == expected


def test_replacing_unknown_words_with_their_spelling_restores_the_sentence():
    tokenizer = WordTokenizer.train(["(a) b"])
    for sentence in ("eins-sieben", "a/b (Anna) % a", "8,5x", "Ä-a"):
        words = zip(tokenizer.words(sentence), tokenizer.encode(sentence), strict=True)
        unknown = [word for word, i in words if i == UNKNOWN_ID]
        assert unknown and tokenizer.decode(tokenizer.encode(sentence), unknown) == sentence
