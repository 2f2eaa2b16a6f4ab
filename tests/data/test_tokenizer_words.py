"""The words of a sentence as they stand in it, and what is written for unknown ones."""

import pytest

from keras_transformer.data.tokenizers import WordTokenizer
from keras_transformer.special_tokens import (
    END_ID,
    PADDING_ID,
    SPECIAL_TOKENS,
    START_ID,
    UNKNOWN_ID,
)

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
def test_words_are_the_text_of_the_tokens(tokenizer, sentence):
    words = tokenizer.words(sentence)
    assert len(words) == len(tokenizer.encode(sentence))
    assert "".join(words) == "".join(sentence.split())


@pytest.mark.parametrize(
    ("learned", "sentence", "words"),
    [
        ("a b, c", "a  zebra, (b)", ["a", "zebra", ",", "(", "b", ")"]),
        ("a b, c", " “Émile” isn’t A-Z ", ["Émile", "isn’t", "A", "-", "Z"]),
        ("Ähre b, c", "cafe\u0301 caf\u00e9, İx", ["cafe\u0301", "caf\u00e9", ",", "İx"]),
        ("a b c", "Herr Strauß, Cafe\u0301 x!", ["Herr", "Strauß", "Cafe\u0301", "x"]),
        ("a b c", "Ödön — Émile-Zola's", ["Ödön", "Émile-Zola's"]),
        ("Ä b, c", "😀\tzebra\n b", ["😀", "zebra", "b"]),
        ("a", "", []),
    ],
)
def test_words_are_as_they_stand_there_known_or_not(learned, sentence, words):
    tokenizer = WordTokenizer.train([learned])
    assert len(tokenizer.encode(sentence)) == len(words)
    assert tokenizer.words(sentence) == words


def test_tokens_name_ids_and_join_puts_them_together(tokenizer):
    ids = [*tokenizer.encode("Don't go, zebra!"), END_ID]
    tokens = ["▁Don't", "▁go", ",", "[UNK]", "!", "[END]"]
    assert tokenizer.tokens(ids) == tokenizer.tokens(iter(ids)) == tokens
    assert tokenizer.tokens(range(4)) == list(SPECIAL_TOKENS) and tokenizer.tokens([]) == []
    assert tokenizer.join(tokens[:3]) == "Don't go," and tokenizer.join([]) == ""


@pytest.mark.parametrize("sentence", SENTENCES)
def test_joining_inverts_splitting(tokenizer, sentence):
    assert tokenizer.join(tokenizer.tokenize(sentence)) == tokenizer.normalize(sentence)


@pytest.mark.parametrize(
    ("replacements", "expected"),
    [
        ((), "[UNK] go, [UNK]!"),
        (["Anna"], "Anna go, [UNK]!"),
        (["Anna", "O'Neil"], "Anna go, O'Neil!"),
        (["Anna", "[END]", "too many"], "Anna go, [END]!"),
        (iter(["one", "two"]), "one go, two!"),
    ],
)
def test_unknown_words_can_be_replaced(tokenizer, replacements, expected):
    ids = [START_ID, *tokenizer.encode("zebra go, zebra!"), PADDING_ID, END_ID, UNKNOWN_ID]
    assert tokenizer.decode(ids, replacements) == expected
