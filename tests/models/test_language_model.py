import keras
import numpy as np
import pytest
from layer_contract import (
    BLOCK_SIZES,
    check_rates_are_refused,
    check_sizes_are_refused,
    dtype_of,
    group_settings,
    numpy,
)
from model_contract import ModelContract, variants

import keras_transformer as kt
from keras_transformer.models import LSTMLanguageModel, TransformerLanguageModel
from keras_transformer.objectives.losses import masked_cross_entropy
from keras_transformer.testing import check_no_future_leak

LSTM = {"vocab_size": 13, "d_model": 6, "units": 8, "n": 2, "rate": 0.0}
TRANSFORMER = {**BLOCK_SIZES, "vocab_size": 13, "n": 1}
VARIANTS = {
    "lstm": {"kind": "lstm"},
    "transformer": {},
    "rotary": {"d_k": 4, "rotary_base": 100.0, "n": 2},
    "untied": {"tie_output": False},
    "of_today": {
        "h": 4,
        "d_k": 4,
        "h_kv": 2,
        "qk_norm": True,
        "n": 2,
        "gated": True,
        "normalization": "rms",
        "rotary_base": 100.0,
        "rotary_scaling": (8.0, 1.0, 4.0, 16),
        "window": 3,
        "use_bias": False,
        "qkv_bias": True,
        "scale_embeddings": False,
    },
    "alibi": {"relative_positions": "alibi"},
    "t5": {"relative_positions": "t5"},
    "post_norm": {"norm_first": False},
}
KINDS = pytest.mark.parametrize("kind", ("lstm", "transformer"))
TOKENS = np.array([[2, 5, 7, 9, 11], [2, 12, 4, 0, 0]], "int32")


def make(kind="transformer", **kwargs):
    if kind == "lstm":
        return LSTMLanguageModel(**{**LSTM, **kwargs})
    return TransformerLanguageModel(**group_settings({**TRANSFORMER, **kwargs}))


def logits_of(model, tokens=TOKENS):
    return numpy(model(tokens))


def step_logits(model, tokens, length, copies=1):
    """Returns the logits computed step by step, (B, T, V)."""
    cache, memory = model.start(np.zeros((len(tokens) // copies, 1)), length, copies)
    logits = []
    for position, column in enumerate(tokens.T):
        step, cache = model.step(column, position, cache, memory)
        logits.append(numpy(step))
    return np.stack(logits, axis=1)


@variants(VARIANTS, quick=("lstm", "of_today", "t5"))
class TestLanguageModel(ModelContract):
    @classmethod
    def make(cls, **kwargs):
        return make(**kwargs)

    @staticmethod
    def inputs(variant):
        return TOKENS

    @staticmethod
    def zero_gradients(variant):
        # Softmax ignores a constant added to all scores, but not one that is rotated.
        return () if "rotary_base" in variant else ("key_projection/bias",)

    def test_future_tokens_do_not_change_earlier_logits(self, variant, model):
        check_no_future_leak(model, np.tile(TOKENS[:1], (2, 1)))

    @pytest.mark.parametrize("before", (0, 3), ids=("right", "left"))
    def test_padding_on_either_side_does_not_change_logits(self, variant, model, before):
        padded = np.pad(TOKENS, ((0, 0), (before, 3 - before)))
        found = logits_of(model, padded)
        np.testing.assert_allclose(found[padded != 0], logits_of(model)[TOKENS != 0], atol=1e-5)

    def test_step_by_step_logits_match_call(self, variant, model):
        for length in (5, 9):
            found = step_logits(model, TOKENS, length)[TOKENS != 0]
            np.testing.assert_allclose(found, logits_of(model)[TOKENS != 0], atol=1e-5)

    def test_copies_are_adjacent_rows(self, variant, model):
        tokens = np.random.default_rng(0).integers(3, 13, (6, 5)).astype("int32")
        found = step_logits(model, tokens, 5, copies=3)
        np.testing.assert_allclose(found, logits_of(model, tokens), atol=1e-5)

    def test_the_cache_keeps_its_shapes(self, variant):
        model = self.with_random_weights(**variant, dtype="mixed_bfloat16")
        cache, memory = model.start(np.zeros((2, 1)), 7, copies=2)
        _, new = model.step(np.repeat(TOKENS[:, 0], 2), 0, cache, memory)
        keras.tree.assert_same_structure(new, cache)
        for x, old in zip(keras.tree.flatten(new), keras.tree.flatten(cache), strict=True):
            assert (tuple(x.shape), dtype_of(x)) == (tuple(old.shape), dtype_of(old))
            assert x.shape[0] == 4


@pytest.mark.every_backend
@pytest.mark.slow
def test_a_text_has_at_most_as_many_tokens_as_positions():
    tokenizer = kt.WordTokenizer.train(["a b c d e"])
    settings = kt.BlockSettings(h=2, d_model=8, d_ff=12, n=1)
    model = TransformerLanguageModel(tokenizer.vocab_size, 8, settings)
    model.build((None, None))
    generate = kt.Generate(model, tokenizer)  # of a model with fewer positions than a probe
    assert generate("a b", max_tokens=3).startswith("a b")
    with pytest.raises(ValueError, match="length of 9, seq_length=8"):
        model(np.ones((1, 9), "int32"))
    model = TransformerLanguageModel(tokenizer.vocab_size, 8, settings)
    model.embedding = kt.PositionEmbeddingLayer(8, tokenizer.vocab_size, 8)
    model.build((None, None))
    with pytest.raises(ValueError, match="length of 9, seq_length=8"):
        kt.Generate(model, tokenizer)("a b", max_tokens=7)


class WithCall(TransformerLanguageModel):
    """A model without a step that equals its call, which is called with all tokens."""

    def call(self, tokens, training=None):
        return super().call(tokens, training)


@pytest.mark.filterwarnings("ignore:Decoding with the layers")
def test_a_model_without_a_cache_continues_a_text_up_to_its_length():
    tokenizer = kt.WordTokenizer.train(["a b c d e"])
    settings = kt.BlockSettings(h=2, d_model=8, d_ff=12, n=1)
    model = WithCall(tokenizer.vocab_size, 20, settings)
    model.build((None, None))
    generate = kt.Generate(model, tokenizer)
    text = generate("a b", 18, temperature=9.0)
    assert "a b" + "".join(generate.stream("a b", 18, temperature=9.0)) == text
    with pytest.raises(ValueError, match="length of 21, seq_length=20"):
        generate("a b", 19)


def test_parameter_count_matches_the_published_one():
    """354 words and padding, embeddings of size 100, and two LSTM layers of 150 units."""
    model = make("lstm", vocab_size=355, d_model=100, units=150)
    model.build((None, None))
    assert model.count_params() == 420_305


@KINDS
def test_initial_loss_is_about_ln_v_per_token(kind):
    model = make(kind, vocab_size=2000, d_model=32)
    tokens = np.random.default_rng(0).integers(4, 2000, (64, 7))
    total, count = masked_cross_entropy(tokens[:, 1:], model(tokens[:, :-1]))
    assert float(total / count) == pytest.approx(np.log(2000), abs=0.6)


@KINDS
def test_bad_arguments_are_refused(kind):
    def remake(**kwargs):
        return make(kind, **kwargs)

    check_sizes_are_refused(remake, "vocab_size", "n")
    check_rates_are_refused(remake)


@KINDS
@pytest.mark.parametrize("tokens", (TOKENS[0], TOKENS[None]), ids=("rank 1", "rank 3"))
@pytest.mark.parametrize("is_built", (True, False))
def test_tokens_of_another_rank_are_refused(kind, tokens, is_built):
    model = make(kind)
    if is_built:
        model.build((None, None))
    with pytest.raises(ValueError, match=r"must have the shape \(B, T\)|expected ndim=2"):
        model(tokens)


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="only TensorFlow's SavedModel")
@KINDS
def test_an_exported_model_takes_any_length(kind, tmp_path):
    import tensorflow as tf

    model = make(kind)
    model(TOKENS[:, :2])
    model.export(tmp_path / "exported", verbose=False)
    exported = tf.saved_model.load(tmp_path / "exported")
    np.testing.assert_allclose(numpy(exported.serve(TOKENS)), numpy(model(TOKENS)), atol=1e-5)


def test_a_functional_model_of_unknown_length(tmp_path):
    ids = keras.Input((None,), dtype="int32")
    x = kt.PositionEmbeddingFixedWeights(None, 9, 8)(ids)
    encoder = kt.Encoder(settings=kt.BlockSettings(h=2, d_model=8, d_ff=16, rotary_base=100.0))
    mask = kt.combine_masks(kt.padding_mask(ids), kt.causal_mask(ids))
    model = keras.Model(ids, keras.layers.Dense(9)(encoder(x, attention_mask=mask)))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    check_no_future_leak(loaded, np.array([[4, 5, 6], [4, 5, 6]], "int32"))
    longer = np.array([[4, 5, 6, 7, 8]], "int32")
    found, expected = (numpy(x(longer)) for x in (loaded, model))
    np.testing.assert_allclose(found, expected, atol=1e-6)
