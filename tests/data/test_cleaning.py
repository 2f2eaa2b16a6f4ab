import itertools
import unicodedata

import pytest
from quick import some_of
from shared_data import shared

from keras_transformer.data.cleaning import clean, clean_pairs
from keras_transformer.data.pairs import read_pairs

OPTIONS = ["keep_case", "keep_punctuation", "keep_letters"]
CHOICES = [
    dict(zip(OPTIONS, values, strict=True)) for values in itertools.product([False, True], repeat=3)
]
GERMAN = "„Schöne Grüße“ – sagt’s um 6:30, François!"


@pytest.mark.parametrize(
    ("sentence", "cleaned"),
    [
        ("Go on.", "go on"),
        ("Grüß Gott!", "gru gott"),
        ("Schöne Straße", "schone strae"),
        ("I don't know.", "i dont know"),
        ("He's an ex-con, isn't he?", "hes an excon isnt he"),
        ("It’s “quoted”", "its quoted"),
        ("Come at 6:30 today", "come at today"),
        ("my MP3-Player", "my"),
        ("a\u00a0b  c\td", "ab c d"),
        ("Yes - no", "yes no"),
        ("François", "francois"),
        ("Franc\u0327ois", "francois"),
        ("12, 34!", ""),
        ("Привет", ""),
        ("", ""),
    ],
)
def test_default_options_follow_the_published_rule(sentence, cleaned):
    assert clean(sentence) == cleaned


@pytest.mark.parametrize(
    ("keep", "cleaned"),
    [
        ([], "schone grue sagts um francois"),
        (["keep_case"], "Schone Grue sagts um Francois"),
        (["keep_punctuation"], '"schone grue" - sagt\'s um 6:30, francois!'),
        (["keep_letters"], "schöne grüße sagts um françois"),
        (["keep_case", "keep_punctuation"], '"Schone Grue" - sagt\'s um 6:30, Francois!'),
        (["keep_case", "keep_letters"], "Schöne Grüße sagts um François"),
        (["keep_punctuation", "keep_letters"], '"schöne grüße" - sagt\'s um 6:30, françois!'),
        (OPTIONS, '"Schöne Grüße" - sagt\'s um 6:30, François!'),
    ],
)
def test_keep_options(keep, cleaned):
    assert clean(GERMAN, **dict.fromkeys(keep, True)) == cleaned


@pytest.mark.parametrize(
    ("sentence", "cleaned"),
    [
        ("‘a’ ‚b‘ ‹c›", "'a' 'b' 'c'"),
        ("“a” „b“ «c»", '"a" "b" "c"'),
        ("1990–2000 — well", "1990-2000 - well"),
        ("so—what", "so - what"),
        ("and …", "and ..."),
        ("a\u00a0b\u2009c", "a b c"),
        ("Sil\u00adbe \u200bb\ufeff", "Silbe b"),
    ],
)
def test_typographic_characters_are_normalized(sentence, cleaned):
    assert clean(sentence, keep_case=True, keep_punctuation=True, keep_letters=True) == cleaned


def test_kept_letters_are_composed():
    composed, decomposed = "schön", unicodedata.normalize("NFD", "schön")
    assert composed != decomposed
    assert clean(decomposed, keep_letters=True) == clean(composed, keep_letters=True) == composed


@pytest.mark.parametrize("sentence", ["x\u0304 y", "हिन्दी भाषा"])
def test_kept_letters_keep_their_combining_marks(sentence):
    assert clean(sentence + ".", keep_letters=True) == sentence


@pytest.mark.parametrize("step", some_of({"some": 7, "all": 1}, quick=("some",)))
@pytest.mark.parametrize("keep", CHOICES, ids=str)
def test_cleaning_is_idempotent(keep, step):
    # Characters below the surrogates, within a word and alone, and a few sentences.
    texts = [f"A{chr(code)}b {chr(code)}" for code in range(0, 0xD800, step)]
    for sentence in [*texts, GERMAN, "ΟΔΟΣ. ΟΔΟΣ", "İstanbul", "a.\u0301 \u0308", "\u212b \u1ffd"]:
        once = clean(sentence, **keep)
        assert clean(once, **keep) == once, ascii(sentence)


@pytest.mark.parametrize("keep", CHOICES, ids=str)
def test_words_are_separated_by_single_spaces(keep):
    cleaned = clean(" \t a \u2003 - \u00a0 — b\r\n", **keep)
    assert cleaned == " ".join(cleaned.split(" ")) == cleaned.strip()
    assert "" not in cleaned.split(" ")


def test_pairs_with_an_empty_side_are_dropped_and_duplicates_kept():
    pairs = [("Go!", "Geh!"), ("12!", "Zwölf!"), ("Twelve!", "12!"), ("Go.", "Geh.")]
    assert clean_pairs(pairs) == [("go", "geh"), ("go", "geh")]
    assert clean_pairs(pairs, keep_punctuation=True) == [
        ("go!", "geh!"),
        ("12!", "zwolf!"),
        ("twelve!", "12!"),
        ("go.", "geh."),
    ]


@pytest.mark.parametrize("keep", CHOICES, ids=str)
def test_options_apply_to_both_sides(keep):
    both = (clean(GERMAN, **keep), clean("Ä. b", **keep))
    assert clean_pairs(iter([(GERMAN, "Ä. b")]), **keep) == [both]


@pytest.mark.parametrize(
    ("pair", "side"), [(("Привет!", "Hello!"), "source"), (("Good morning.", "早上好。"), "target")]
)
def test_cleaning_that_would_remove_most_letters_is_refused(pair, side):
    with pytest.raises(ValueError, match=rf"100% of the letters of the {side} .*keep_letters=True"):
        clean_pairs([pair])
    assert clean_pairs([pair], keep_letters=True) == [
        tuple(clean(text, keep_letters=True) for text in pair)
    ]


def test_words_with_digits_are_reported_if_they_are_most_of_the_text():
    pairs = [("Room4a", "Zimmer"), ("Room4b", "Zimmer")]
    with pytest.raises(ValueError, match=r"100% of the letters .*keep_punctuation=True"):
        clean_pairs(pairs, keep_letters=True)


@pytest.mark.slow
def test_default_options_reproduce_the_published_data_set():
    cleaned = clean_pairs(read_pairs(shared("deu.txt")))
    assert cleaned == read_pairs(shared("english-german-both.pkl"))
    assert clean_pairs(cleaned) == cleaned


def test_keep_options_drop_no_pair_of_the_real_corpus():
    pairs = read_pairs(shared("deu.txt"))
    kept = clean_pairs(pairs, keep_case=True, keep_punctuation=True, keep_letters=True)
    assert len(kept) == len(pairs)
    assert kept[2] == ("Hi.", "Grüß Gott!")
