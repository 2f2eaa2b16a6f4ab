"""Words that the model does not know: found in the source by its attention."""

import keras
import pytest
from keras import ops

from keras_transformer import Translate
from keras_transformer.data.tokenizers import SubwordTokenizer, WordTokenizer
from keras_transformer.layers import DotProductAttention, record_attention


class Mirror(keras.Model):
    """Says a sentence backwards, an unknown word for an unknown word.

    Its first head looks at the word that it says next, its second one at all alike.
    """

    def __init__(self, vocab_size):
        super().__init__()
        self.enc_vocab_size = self.dec_vocab_size = vocab_size
        self.attention = DotProductAttention()

    def start(self, source, length, copies=1):
        source = ops.repeat(source, copies, axis=0)
        return {}, source

    def step(self, last, position, cache, source):
        said = self.look(source, ops.reshape(position, (1,)))
        return 20 * said[:, 0, 0], cache

    def look(self, source, positions):
        """What each head reads at some positions: (R, N, T, V)."""
        words = ops.sum(ops.cast(source != 0, "int32"), axis=1, keepdims=True) - 1
        place = ops.where(positions < words, words - 1 - positions, words)
        place = ops.cast(place, "float32")  # (R, T)
        # (p, 1) · (2j, -j²) is greatest where j = p.
        queries = ops.stack([place, ops.ones_like(place)], axis=2) * 1000
        queries = ops.stack([queries, ops.zeros_like(queries)], axis=1)  # (R, N, T, 2)
        j = ops.arange(ops.shape(source)[1], dtype="float32")
        keys = ops.stack([2 * j, -(j**2)], axis=1)[None, None]
        values = ops.one_hot(source, self.enc_vocab_size)[:, None]
        return self.attention(queries, keys, values, attention_mask=(source != 0)[:, None, None])

    def attention_weights(self, source, target):
        with record_attention() as weights:
            self.look(source, ops.arange(ops.shape(target)[1]))
        return {"cross": [weights[self.attention]]}


@pytest.fixture(scope="module")
def translate():
    tokenizer = WordTokenizer.train(["one two three four five,"])
    return Translate(Mirror(tokenizer.vocab_size), tokenizer, tokenizer)


def test_the_mirror_says_known_words_backwards(translate):
    assert translate("one two three, four five") == "five four, three two one"


@pytest.mark.parametrize("options", [{}, {"beam_size": 3}], ids=["greedy", "beam"])
def test_an_unknown_word_is_the_one_that_was_looked_at(translate, options):
    sentences = ["six seven eight", "one Anna two, Bob", "  nine", "four", "", "one two zebra" * 4]
    expected = ["eight seven six", "Bob, two Anna one", "nine", "four", ""]
    found = translate(sentences, replace_unknown=True, **options)
    assert found[:5] == expected
    assert found[5] == "zebra two zebraone two zebraone two zebraone two one"
    assert [translate(x, replace_unknown=True, **options) for x in sentences[:5]] == expected


def test_without_replacement_it_is_not_said_or_said_as_unknown(translate):
    assert "Anna" not in translate("two Anna one") and "[" not in translate("two Anna one")
    assert translate("two Anna one", allow_unknown=True) == "one [UNK] two"
    assert translate("two Anna one", replace_unknown=True) == "one Anna two"
    (hypothesis,) = translate.hypotheses("two Anna one", replace_unknown=True)[0]
    assert hypothesis.tokens == ["▁one", "[UNK]", "▁two", "[END]"]
    assert hypothesis.source_tokens == ["▁two", "[UNK]", "▁one", "[END]"]
    assert hypothesis.attention is None and hypothesis.score == pytest.approx(0, abs=1e-3)


def test_it_is_written_as_it_stands_in_the_sentence(translate):
    assert translate("Straße one ÉMILE", replace_unknown=True) == "ÉMILE one Straße"


def test_the_unknown_words_of_a_prefix_are_its_own(translate):
    def found(prefix, **options):
        return translate("six seven two eight", prefix, **options)

    assert found("Anna", replace_unknown=True) == "Anna two seven six"
    assert found("one Anna", replace_unknown=True) == "one Anna seven six"
    assert found("Anna Bob", allow_unknown=True) == "Anna Bob [UNK] [UNK]"
    assert found("three Anna Bob").startswith("three Anna Bob")


@pytest.mark.parametrize("prefix", ["one-seven", "one,Anna", "Łódź (Bob)", "(Anna", "ßeven"])
@pytest.mark.parametrize("options", [{}, {"replace_unknown": True}, {"beam_size": 2}], ids=str)
def test_a_translation_begins_with_its_prefix_letter_by_letter(translate, prefix, options):
    text = translate("five four three two one one", prefix, **options)
    assert text.startswith(prefix) and len(text) > len(prefix)


def test_a_word_from_the_source_has_a_space_before_it(translate):
    """In the source a bracket stood there."""
    assert translate("two (Anna)", replace_unknown=True) == ") Anna ( two"


def test_a_character_that_no_subword_has_stands_as_in_the_source_or_in_the_prefix():
    tokenizer = SubwordTokenizer.train(["ä, b c"], 12)
    translate = Translate(Mirror(tokenizer.vocab_size), tokenizer, tokenizer)
    assert translate("b😀c 🚀ä b", replace_unknown=True) == "bä🚀 c😀 b"
    assert translate("b c b c b c", "b😀c 🚀").startswith("b😀c 🚀")


def test_the_attention_is_as_it_was_made(translate):
    ((hypothesis,),) = translate.hypotheses("one Anna", return_attention=True, allow_unknown=True)
    cross = hypothesis.attention["cross"].tolist()
    assert cross == [
        [[[0, 1, 0], [1, 0, 0], [0, 0, 1]], [[pytest.approx(1 / 3)] * 3] * 3],
    ]
