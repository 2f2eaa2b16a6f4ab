"""BPE tokenization: decoding sub-words restores the text."""

import json
from pathlib import Path

import pytest
from layer_contract import check_rates_are_refused
from quick import some_of

from keras_transformer._utils.special_tokens import SPECIAL_TOKENS, UNKNOWN_ID
from keras_transformer.data.pairs import read_pairs
from keras_transformer.data.tokenizers import SubwordTokenizer, Tokenizer, WordTokenizer

CORPUS = Path(__file__).resolve().parents[2] / "data" / "english-german.tsv"
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
    if not CORPUS.exists():
        pytest.skip("needs the embedded corpus")
    return read_pairs(CORPUS)


@pytest.mark.parametrize("sentence", [*SENTENCES, "  lowest   widen ", "", "😀 b,(a"])
def test_decode_inverts_encode_for_any_word_of_known_characters(tokenizer, sentence):
    ids = tokenizer.encode(sentence)
    assert UNKNOWN_ID not in ids
    assert tokenizer.decode(ids) == tokenizer.normalize(sentence)


@pytest.mark.parametrize("side", some_of({"source": 0, "target": 1, "both": None}, quick=("both",)))
def test_decode_inverts_encode_on_the_whole_corpus(corpus, side):
    sentences = [
        text for pair in corpus for text in (pair if side is None else pair[side : side + 1])
    ]
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


def test_refuses_a_file_of_another_tokenizer_model(tokenizer, tmp_path):
    values = json.loads(tokenizer.to_json())
    values["model"] = {
        "type": "WordPiece",
        "vocab": {"[UNK]": 0},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }
    (tmp_path / "other.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ValueError, match="words or BPE sub-words"):
        Tokenizer.load(tmp_path / "other.json")


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
