"""BPE tokenization: decoding sub-words restores the text."""

import json

import pytest
from layer_contract import check_rates_are_refused
from quick import some_of

from keras_transformer._utils.special_tokens import SPECIAL_TOKENS, UNKNOWN_ID
from keras_transformer.data.corpus import corpus_path
from keras_transformer.data.pairs import read_pairs
from keras_transformer.data.tokenizers import SubwordTokenizer, Tokenizer, WordTokenizer

SENTENCES = [
    "low low low low low lower lower newest newest newest newest newest newest",
    "widest widest widest 'tis (50%), isn't it?",
    "Wie geht's? 😀 Gut 😀😀! 👨‍👩‍👧",
    "▁ and a▁b, well-known…",
    "[END] [PAD]",
]


@pytest.fixture(scope="module")
def tokenizer():
    return SubwordTokenizer.train(SENTENCES, 120)


@pytest.fixture(scope="module")
def corpus():
    return read_pairs(corpus_path())


@pytest.mark.parametrize("sentence", [*SENTENCES, "  lowest   widen ", "", "😀 b,(a"])
def test_decode_inverts_encode_for_any_word_of_known_characters(tokenizer, sentence):
    ids = tokenizer.encode(sentence)
    assert UNKNOWN_ID not in ids
    assert tokenizer.decode(ids) == tokenizer.normalize(sentence)


SIDES = {  # first side, end and step
    "source": (0, 1, 1),
    "target": (1, 2, 1),
    "both": (0, 2, 1),
    "tenth of both": (0, 2, 10),
}


@pytest.mark.parametrize("sides", some_of(SIDES, quick=("tenth of both",)))
def test_decode_inverts_encode_on_the_corpus(corpus, sides):
    first, end, step = sides
    sentences = [text for pair in corpus[::step] for text in pair[first:end]]
    tokenizer = SubwordTokenizer.train(sentences, 1000)
    assert tokenizer.vocab_size == 1000
    wrong = [
        s for s in sentences if tokenizer.decode(tokenizer.encode(s)) != tokenizer.normalize(s)
    ]
    assert not wrong


def test_the_most_frequent_pair_is_merged_first():
    """In "aa aa ab", ▁a occurs three times and is merged first, then ▁aa."""
    letters = 3  # ▁, a, b
    tokenizer = SubwordTokenizer.train(["aa aa ab"], len(SPECIAL_TOKENS) + letters + 2)
    assert tokenizer.tokenize("aa ab ba") == ["▁aa", "▁a", "b", "▁", "b", "a"]


def test_a_smaller_vocabulary_gives_more_tokens(corpus):
    sentences = [target for _, target in corpus[:3000]]
    tokenizers = [SubwordTokenizer.train(sentences, size) for size in (200, 500, 2000)]
    counts = [sum(len(x.encode(s)) for s in sentences) for x in tokenizers]
    words = sum(WordTokenizer.count_tokens(s) for s in sentences)
    assert counts[0] > counts[1] > counts[2] >= words


def test_an_unknown_character_is_one_unknown_token(tokenizer):
    ids = tokenizer.encode("loÿer")
    assert ids.count(UNKNOWN_ID) == 1
    assert tokenizer.decode(ids, ["ÿ"]) == "loÿer"
    words = tokenizer.words("loÿer low")
    assert "".join(words) == "▁loÿer▁low"
    assert len(words) == len(tokenizer.encode("loÿer low"))


def test_special_tokens_in_a_text_are_ordinary_text(tokenizer):
    for special in SPECIAL_TOKENS:
        assert not {0, 2, 3} & set(tokenizer.encode(special))


def test_text_is_normalized_like_the_training_text():
    tokenizer = SubwordTokenizer.train(["der igel rennt"], 40)
    assert tokenizer.normalize("Der Ígel, rennt!") == "der igel rennt"


def test_load_detects_the_tokenizer_class(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "bpe.json")
    WordTokenizer.train(SENTENCES).save(tmp_path / "words.json")
    loaded = Tokenizer.load(tmp_path / "bpe.json")
    assert type(loaded) is SubwordTokenizer
    assert loaded.to_json() == tokenizer.to_json()
    assert [loaded.encode(s) for s in SENTENCES] == [tokenizer.encode(s) for s in SENTENCES]
    assert type(Tokenizer.load(tmp_path / "words.json")) is WordTokenizer


def write_with_model(tokenizer, folder, **changes):
    """Writes a file whose model has other options."""
    values = json.loads(tokenizer.to_json())
    values["model"] |= changes
    (folder / "other.json").write_text(json.dumps(values), encoding="utf-8")
    return folder / "other.json"


@pytest.mark.parametrize("kind", ["WordPiece", "Unigram", "Regex"])
def test_refuses_a_file_of_another_tokenizer_model(tokenizer, tmp_path, kind):
    path = write_with_model(tokenizer, tmp_path, type=kind)
    with pytest.raises(ValueError, match=f"words or BPE sub-words. Received: '{kind}'$"):
        Tokenizer.load(path)


def test_refuses_a_file_without_a_tokenizer_model(tokenizer, tmp_path):
    with pytest.raises(ValueError, match=r"must have a type of model\. Received: \[\]$"):
        Tokenizer.load(write_with_model(tokenizer, tmp_path, type=[]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unk_token": None}, "other rules in model$"),
        ({"unk_token": "low"}, "other rules in model$"),
        ({"end_of_word_suffix": "</w>"}, "other rules in model$"),
        ({"byte_fallback": True}, "other rules in model$"),
        ({"more": 1}, "other rules in model$"),
        ({"dropout": 2.0}, "`dropout` must be at least 0 and less than 1"),
        ({"merges": None}, r"list of merges\. Received: None$"),
        ({"merges": ["l o"]}, r"that together are a token\. Received: 'l o'$"),
        ({"merges": [["l", "o", "w"]]}, "that together are a token"),
        ({"merges": [["l", 1]]}, "that together are a token"),
        ({"merges": [["l", "unknown"]]}, "that together are a token"),
        ({"merges": [["w", "w"]]}, "that together are a token"),
    ],
    ids=str,
)
def test_a_model_that_save_never_writes_is_refused(tokenizer, tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        Tokenizer.load(write_with_model(tokenizer, tmp_path, **changes))


def test_repeated_merges_are_refused(tokenizer, tmp_path):
    merges = 2 * json.loads(tokenizer.to_json())["model"]["merges"][:1]
    with pytest.raises(ValueError, match=r"different\. Received: 2 merges with repeats$"):
        Tokenizer.load(write_with_model(tokenizer, tmp_path, merges=merges))


@pytest.mark.parametrize("name", ("merges", "dropout", "fuse_unk"))
def test_a_model_without_an_option_is_refused(tokenizer, tmp_path, name):
    values = json.loads(tokenizer.to_json())
    del values["model"][name]
    (tmp_path / "other.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ValueError, match=r"other rules in model$"):
        Tokenizer.load(tmp_path / "other.json")


def test_a_tokenizer_with_dropout_can_be_saved_and_loaded(tokenizer, tmp_path):
    varied = tokenizer.with_dropout(0.5)
    varied.save(tmp_path / "bpe.json")
    assert Tokenizer.load(tmp_path / "bpe.json").to_json() == varied.to_json()


@pytest.mark.parametrize(("sentences", "size"), [([], 100), (["abc"], 5), ([" "], 100)])
def test_refuses_an_impossible_vocabulary(sentences, size):
    with pytest.raises(ValueError, match=rf"Received: vocab_size={size}$"):
        SubwordTokenizer.train(sentences, size)


def test_bpe_dropout_varies_tokens_but_not_the_text(tokenizer):
    varied = tokenizer.with_dropout(0.5)
    sentence = "newest lower newest low"
    found = {tuple(varied.encode(sentence)) for _ in range(50)}
    assert len(found) > 5
    assert {tokenizer.decode(ids) for ids in found} == {sentence}
    assert all(len(ids) >= len(tokenizer.encode(sentence)) for ids in found)
    assert tokenizer.encode(sentence) == tokenizer.encode(sentence)
    assert varied.with_dropout(0.0).encode(sentence) == tokenizer.encode(sentence)
    check_rates_are_refused(tokenizer.with_dropout)
