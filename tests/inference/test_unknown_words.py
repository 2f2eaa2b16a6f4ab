"""Unknown words, replaced by the source words with the highest attention weights."""

import keras
import pytest
from keras import ops

from keras_transformer import Translate
from keras_transformer.data.tokenizers import SubwordTokenizer, WordTokenizer
from keras_transformer.layers import DotProductAttention, record_attention


class ReversingModel(keras.Model):
    """A fake model that reverses the source; the unknown token stays the unknown token.

    Its first head attends to the token that it predicts, its second one to all tokens equally.
    """

    def __init__(self, vocab_size):
        super().__init__()
        self.enc_vocab_size = self.dec_vocab_size = vocab_size
        self.attention = DotProductAttention()

    def start(self, source, length, copies=1):
        source = ops.repeat(source, copies, axis=0)
        return {}, source

    def step(self, last, position, cache, source):
        context = self.attend(source, ops.reshape(position, (1,)))
        return 20 * context[:, 0, 0], cache

    def attend(self, source, positions):
        """Computes the context of each head at some positions: (R, N, T, V)."""
        words = ops.sum(ops.cast(source != 0, "int32"), axis=1, keepdims=True) - 1
        place = ops.where(positions < words, words - 1 - positions, words)
        place = ops.cast(place, "float32")  # (R, T)
        # The score (p, 1) · (2j, -j²) is greatest at j = p.
        queries = ops.stack([place, ops.ones_like(place)], axis=2) * 1000
        queries = ops.stack([queries, ops.zeros_like(queries)], axis=1)  # (R, N, T, 2)
        j = ops.arange(ops.shape(source)[1], dtype="float32")
        keys = ops.stack([2 * j, -(j**2)], axis=1)[None, None]
        values = ops.one_hot(source, self.enc_vocab_size)[:, None]
        return self.attention(queries, keys, values, attention_mask=(source != 0)[:, None, None])

    def attention_weights(self, source, target):
        with record_attention() as weights:
            self.attend(source, ops.arange(ops.shape(target)[1]))
        return {"cross": [weights[self.attention]]}


@pytest.fixture(scope="module")
def translate():
    tokenizer = WordTokenizer.train(["one two three four five,"])
    return Translate(ReversingModel(tokenizer.vocab_size), tokenizer, tokenizer)


def test_fake_model_reverses_known_words(translate):
    assert translate("one two three, four five") == "five four, three two one"


@pytest.mark.parametrize("options", [{}, {"beam_size": 3}], ids=["greedy", "beam"])
def test_unknown_token_is_replaced_by_the_attended_source_word(translate, options):
    sentences = ["six seven eight", "one Anna two, Bob", "  nine", "four", "", "one two zebra" * 4]
    expected = ["eight seven six", "Bob, two Anna one", "nine", "four", ""]
    found = translate(sentences, replace_unknown=True, **options)
    assert found[:5] == expected
    assert found[5] == "zebra two zebraone two zebraone two zebraone two one"
    assert [translate(x, replace_unknown=True, **options) for x in sentences[:5]] == expected


def test_unknown_token_is_excluded_allowed_or_replaced(translate):
    assert "Anna" not in translate("two Anna one") and "[" not in translate("two Anna one")
    assert translate("two Anna one", allow_unknown=True) == "one [UNK] two"
    assert translate("two Anna one", replace_unknown=True) == "one Anna two"
    (hypothesis,) = translate.hypotheses("two Anna one", replace_unknown=True)[0]
    assert hypothesis.tokens == ["▁one", "[UNK]", "▁two", "[END]"]
    assert hypothesis.source_tokens == ["▁two", "[UNK]", "▁one", "[END]"]
    assert hypothesis.attention is None and hypothesis.score == pytest.approx(0, abs=1e-3)


def test_replacement_keeps_the_spelling_of_the_source(translate):
    assert translate("Straße one ÉMILE", replace_unknown=True) == "ÉMILE one Straße"


def test_unknown_words_of_a_prefix_are_kept(translate):
    def found(prefix, **options):
        return translate("six seven two eight", prefix, **options)

    assert found("Anna", replace_unknown=True) == "Anna two seven six"
    assert found("one Anna", replace_unknown=True) == "one Anna seven six"
    assert found("Anna Bob", allow_unknown=True) == "Anna Bob [UNK] [UNK]"
    assert found("three Anna Bob").startswith("three Anna Bob")


@pytest.mark.parametrize("prefix", ["one-seven", "one,Anna", "Łódź (Bob)", "(Anna", "ßeven"])
@pytest.mark.parametrize("options", [{}, {"replace_unknown": True}, {"beam_size": 2}], ids=str)
def test_translation_begins_with_the_exact_prefix(translate, prefix, options):
    text = translate("five four three two one one", prefix, **options)
    assert text.startswith(prefix) and len(text) > len(prefix)


def test_replacement_is_preceded_by_a_space(translate):
    """In the source, a bracket precedes the word."""
    assert translate("two (Anna)", replace_unknown=True) == ") Anna ( two"


def test_characters_outside_the_subword_vocabulary_are_copied():
    tokenizer = SubwordTokenizer.train(["ä, b c"], 12)
    translate = Translate(ReversingModel(tokenizer.vocab_size), tokenizer, tokenizer)
    assert translate("b😀c 🚀ä b", replace_unknown=True) == "bä🚀 c😀 b"
    assert translate("b c b c b c", "b😀c 🚀").startswith("b😀c 🚀")


def test_attention_weights_are_those_of_the_fake_model(translate):
    ((hypothesis,),) = translate.hypotheses("one Anna", return_attention=True, allow_unknown=True)
    cross = hypothesis.attention["cross"].tolist()
    one, third = pytest.approx(1), pytest.approx(1 / 3)
    assert cross == [[[[0, one, 0], [one, 0, 0], [0, 0, one]], [[third] * 3] * 3]]
