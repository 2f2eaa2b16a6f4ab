"""Word tokenization: decoding inverts encoding, up to normalization."""

import itertools
import json

import pytest
from quick import some_of

from keras_transformer._utils.special_tokens import (
    END_ID,
    PADDING_ID,
    SPECIAL_TOKENS,
    START_ID,
    UNKNOWN_ID,
)
from keras_transformer.data.corpus import corpus_path
from keras_transformer.data.pairs import read_pairs
from keras_transformer.data.tokenizer_files import added_tokens
from keras_transformer.data.tokenizers import WordTokenizer, encode_source, encode_target

SENTENCES = [
    "Don't go!",
    "The dogs' bowl isn't here, is it?",
    'He said: "It\'s 3.5 km – really…"',
    "Ein Fuß, 1,000 Bücher (und mehr) – ja?",
    "„Schön“, sagte er; »nein«, sagte sie.",
    "'quoted' and ''twice''",
    "C'est l’été, rock'n'roll",
    "well-known, e.g. 50% of a/b & c_d",
    "6:30, 1990–2000, $5, #1, a@b.de",
    "wait... what?!",
    "Wie geht's? 😀 Gut 😀😀! 👨‍👩‍👧 👍🏽",
    "two  spaces   here",
    "  around  ",
    "tab\there, no\u00a0break, line\nbreak",
    "▁ and a▁b",
    "cafe\u0301",
    "[END] [PAD] [UNK] [START]",
    "-",
    "_",
]


@pytest.fixture(scope="module")
def tokenizer():
    return WordTokenizer.train(SENTENCES)


def loaded(tokenizer, folder):
    tokenizer.save(folder / "tokenizer.json")
    return WordTokenizer.load(folder / "tokenizer.json")


# Round trip


@pytest.mark.parametrize("sentence", SENTENCES)
def test_decode_inverts_encode(tokenizer, sentence):
    ids = tokenizer.encode(sentence)
    assert UNKNOWN_ID not in ids
    assert tokenizer.decode(ids) == tokenizer.normalize(sentence)


@pytest.mark.parametrize("step", some_of({"tenth": 10, "all": 1}, quick=("tenth",)))
@pytest.mark.parametrize("side", [0, 1], ids=["source", "target"])
def test_decode_inverts_encode_on_the_corpus(side, step):
    sentences = [pair[side] for pair in read_pairs(corpus_path())[::step]]
    tokenizer = WordTokenizer.train(sentences)
    wrong = [
        s for s in sentences if tokenizer.decode(tokenizer.encode(s)) != tokenizer.normalize(s)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Don't go!", "Don't go!"),
        ("two  spaces   here", "two spaces here"),
        ("  around  ", "around"),
        ("tab\there, no\u00a0break, line\nbreak", "tab here, no break, line break"),
        ("▁ and a▁b", "_ and a_b"),
        ("cafe\u0301", "caf\u00e9"),
    ],
)
def test_only_spaces_and_unicode_variants_are_normalized(tokenizer, sentence, expected):
    assert tokenizer.normalize(sentence) == expected


@pytest.mark.parametrize("sentence", SENTENCES)
def test_normalize_is_idempotent(tokenizer, sentence):
    once = tokenizer.normalize(sentence)
    assert tokenizer.normalize(once) == once


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("Don't go!", ["▁Don't", "▁go", "!"]),
        ("the dogs' bowl", ["▁the", "▁dogs", "'", "▁bowl"]),
        ("3.5 (1,000)", ["▁3", ".", "5", "▁(", "1", ",", "000", ")"]),
        ("well-known", ["▁well", "-", "known"]),
        ('"Ja…"', ['▁"', "Ja", "…", '"']),
        ("so?!", ["▁so", "?", "!"]),
        ("😀😀", ["▁😀", "😀"]),
    ],
)
def test_punctuation_is_split_off(sentence, tokens):
    assert WordTokenizer.train([sentence]).tokenize(sentence) == tokens
    assert WordTokenizer.count_tokens(sentence) == len(tokens)


# Unknown words and special tokens


def test_unknown_words_become_unknown_tokens(tokenizer):
    ids = tokenizer.encode("zebra Don't, zebras 🦓 go!")
    known = tokenizer.encode("Don't, go!")
    assert ids == [UNKNOWN_ID, *known[:2], UNKNOWN_ID, UNKNOWN_ID, *known[2:]]
    assert tokenizer.decode(ids) == "[UNK] Don't, [UNK] [UNK] go!"


def test_special_tokens_have_the_first_ids(tokenizer):
    vocabulary = json.loads(tokenizer.to_json())["model"]["vocab"]
    assert tuple(sorted(vocabulary, key=vocabulary.get)[:4]) == SPECIAL_TOKENS
    assert (PADDING_ID, UNKNOWN_ID, START_ID, END_ID) == (0, 1, 2, 3)
    assert sorted(vocabulary.values()) == list(range(tokenizer.vocab_size))


@pytest.mark.parametrize("special", SPECIAL_TOKENS)
def test_special_tokens_in_a_text_are_ordinary_text(tokenizer, tmp_path, special):
    for one in (tokenizer, loaded(tokenizer, tmp_path), WordTokenizer.train(["a b"])):
        ids = one.encode(f"{special} {special}")
        assert not {PADDING_ID, START_ID, END_ID} & set(ids)
    assert tokenizer.decode(tokenizer.encode(f"Don't {special} go!")) == f"Don't {special} go!"


def test_special_tokens_declared_in_the_file_are_ordinary_text_too(tokenizer, tmp_path):
    values = json.loads(tokenizer.to_json()) | {"added_tokens": added_tokens(SPECIAL_TOKENS)}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    assert END_ID not in WordTokenizer.load(path).encode("[END]")


def test_decode_stops_at_the_end_token_and_skips_start_and_padding(tokenizer):
    go, here = tokenizer.encode("go here")
    ids = [PADDING_ID, START_ID, go, PADDING_ID, here, END_ID, go]
    assert tokenizer.decode(ids) == "go here"
    assert tokenizer.decode([]) == tokenizer.decode([START_ID, END_ID, go]) == ""


def test_source_ids_have_an_end_token_and_target_ids_also_a_start_token(tokenizer):
    ids = tokenizer.encode("go here")
    assert encode_source(tokenizer, "go here") == [*ids, END_ID]
    assert encode_target(tokenizer, "go here") == [START_ID, *ids, END_ID]


# Normalization rules, inferred from the training text


def test_mixed_case_training_text_preserves_case():
    tokenizer = WordTokenizer.train(["Der Igel läuft."])
    assert tokenizer.normalize("DER igel LÄUFT.") == "DER igel LÄUFT."
    assert tokenizer.encode("der Igel")[0] == UNKNOWN_ID


@pytest.mark.parametrize(
    ("sentences", "text", "expected"),
    [
        (["der igel läuft."], "Der IGEL LÄUFT.", "der igel läuft."),
        (["Der Igel rennt."], "Der Ígel rennt.", "Der Igel rennt."),
        (["Der Igel läuft"], "„Der Igel läuft“, ja!", "Der Igel läuft ja"),
        (["der igel rennt"], "Der Ígel, 'rennt'!", "der igel rennt"),
        (["im a purist"], "I'm a purist.", "im a purist"),
        (["it is 3 km"], "It is 3 km", "it is 3 km"),
    ],
    ids=["lower case", "ASCII", "no punctuation", "all three", "apostrophe", "digits"],
)
def test_text_is_normalized_like_the_training_text(tmp_path, sentences, text, expected):
    tokenizer = WordTokenizer.train(sentences)
    for one in (tokenizer, loaded(tokenizer, tmp_path)):
        assert one.normalize(text) == expected
        assert one.encode(text) == one.encode(expected)


@pytest.mark.parametrize("text", ["one - two", "one — two", "one 😀 two"])
def test_dropped_characters_leave_no_token(text):
    tokenizer = WordTokenizer.train(["one two"])
    assert tokenizer.encode(text) == tokenizer.encode("one two")


# The vocabulary


def test_vocabulary_is_sorted_by_frequency_then_alphabetically():
    tokenizer = WordTokenizer.train(["b c a", "c d", "c b"])
    words = ["▁c", "▁b", "▁a", "▁d"]
    vocabulary = json.loads(tokenizer.to_json())["model"]["vocab"]
    assert [vocabulary[word] for word in words] == [4, 5, 6, 7]
    assert tokenizer.encode("c b a d") == [4, 5, 6, 7]


def test_the_order_of_the_sentences_does_not_matter():
    expected = WordTokenizer.train(SENTENCES).to_json()
    assert WordTokenizer.train(SENTENCES[::-1]).to_json() == expected
    assert WordTokenizer.train(iter(SENTENCES[5:] + SENTENCES[:5])).to_json() == expected


def test_rare_words_are_unknown():
    sentences = ["a b c", "a b", "a"]
    sizes = [WordTokenizer.train(sentences, min_count).vocab_size for min_count in (1, 2, 3)]
    assert sizes == [4 + 3, 4 + 2, 4 + 1]
    assert WordTokenizer.train(sentences, 2).encode("a b c") == [4, 5, UNKNOWN_ID]


@pytest.mark.parametrize(("sentences", "min_count"), [([], 1), ([" ", ""], 1), (["a b", "c"], 2)])
def test_refuses_an_empty_vocabulary(sentences, min_count):
    with pytest.raises(ValueError, match=rf"Received: {len(sentences)} sentences$"):
        WordTokenizer.train(sentences, min_count)


# The file


def test_a_loaded_tokenizer_equals_the_saved_one(tokenizer, tmp_path):
    other = loaded(tokenizer, tmp_path)
    assert other.to_json() == tokenizer.to_json()
    assert other.vocab_size == tokenizer.vocab_size
    for sentence in SENTENCES:
        assert other.encode(sentence) == tokenizer.encode(sentence)
        assert other.decode(other.encode(sentence)) == tokenizer.normalize(sentence)


def test_refuses_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json"):
        WordTokenizer.load(tmp_path / "tokenizer.json")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"model": 1}', "no JSON", "\x00"])
def test_refuses_a_file_that_is_not_a_tokenizer(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content, encoding="utf-8")
    message = r"(is not valid JSON|must contain a JSON object|is not a tokenizer file).*Received: "
    with pytest.raises(ValueError, match=message):
        WordTokenizer.load(path)


def test_refuses_other_special_tokens(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer.to_json().replace('"[END]"', '"<end>"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"must begin with .*Received: .*<end>"):
        WordTokenizer.load(path)


def strip(**options):
    return {"type": "Sequence", "normalizers": [{"type": "Strip", **options}]}


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("version", "2.0"),
        ("truncation", {"max_length": 1, "stride": 0, "strategy": "LongestFirst"}),
        ("padding", {"strategy": {"Fixed": 10**9}, "direction": "Left", "pad_to_multiple_of": 1}),
        ("post_processor", {"type": "ByteLevel", "add_prefix_space": True}),
        ("normalizer", None),
        ("normalizer", {"type": "NFC"}),
        ("normalizer", strip(strip_left=True, strip_right=False)),
        ("normalizer", {"type": "Replace", "pattern": {"String": ""}, "content": 9 * "a"}),
        ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        ("pre_tokenizer", None),
        ("pre_tokenizer", {"type": "Whitespace"}),
        ("decoder", None),
        ("decoder", {"type": "Replace", "pattern": {"Regex": "(a*)*b"}, "content": ""}),
    ],
    ids=str,
)
def test_rules_that_save_never_writes_are_refused(tokenizer, tmp_path, section, value):
    path = tmp_path / "tokenizer.json"
    values = json.loads(tokenizer.to_json()) | {section: value}
    path.write_text(json.dumps(values), encoding="utf-8")
    message = f"not a tokenizer file|rules that `save` writes.*Received: other rules in {section}$"
    with pytest.raises(ValueError, match=message):
        WordTokenizer.load(path)


@pytest.mark.parametrize("spelling", [*itertools.product(("é", "e"), ("A", "a"), ("!", " "))])
def test_every_normalization_can_be_loaded(tmp_path, spelling):
    for apostrophe in ("’", ""):
        tokenizer = WordTokenizer.train([f"{''.join(spelling)}{apostrophe}"])
        assert loaded(tokenizer, tmp_path).to_json() == tokenizer.to_json()


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (None, r"must be a dictionary of integers\. Received: None$"),
        ({"a": "4"}, r"must be a dictionary of integers\."),
        ({"a": True}, r"must be a dictionary of integers\."),
        ({"a": 5}, r"gaps or duplicates\. Received: 5 tokens, 5 ids$"),
        ({"a": 3}, r"gaps or duplicates\. Received: 5 tokens, 4 ids$"),
        ({"a": 4, "\ud800": 5}, r"valid Unicode, no surrogates\. Received: "),
    ],
)
def test_a_damaged_vocabulary_is_refused(tokenizer, tmp_path, vocabulary, message):
    values = json.loads(tokenizer.to_json())
    special = {token: i for i, token in enumerate(SPECIAL_TOKENS)}
    values["model"]["vocab"] = vocabulary and {**special, **vocabulary}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        WordTokenizer.load(path)


def test_a_vocabulary_beyond_the_limit_is_refused(tokenizer, tmp_path, monkeypatch):
    tokenizer.save(tmp_path / "tokenizer.json")
    monkeypatch.setattr("keras_transformer.data.tokenizer_files.MAX_TOKENS", 10)
    with pytest.raises(ValueError, match=r"at most 10 tokens\. Received: \d+ tokens$"):
        WordTokenizer.load(tmp_path / "tokenizer.json")


def test_training_a_vocabulary_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr("keras_transformer.data.tokenizers.MAX_TOKENS", 5)
    with pytest.raises(ValueError, match=r"larger `min_count`\. Received: 6 tokens$"):
        WordTokenizer.train(["a b"])


@pytest.mark.parametrize("change", [{"id": 1}, {"content": "the"}, {"normalized": True}])
def test_other_added_tokens_are_refused(tokenizer, tmp_path, change):
    values = json.loads(tokenizer.to_json())
    values["added_tokens"] = added_tokens(SPECIAL_TOKENS)
    values["added_tokens"][3] |= change
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ValueError, match=r"declare no added tokens, or exactly"):
        WordTokenizer.load(path)


def test_non_ascii_spaces_separate_words_with_an_ascii_vocabulary():
    tokenizer = WordTokenizer.train(["we go home"])
    for space in ("\u00a0", "\u2009", "\u3000", "\u2028"):
        assert tokenizer.normalize(f"we{space}go {space} home{space}") == "we go home"
