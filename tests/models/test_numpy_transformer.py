"""`NumpyTransformer`: its logits equal those of the model."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_contract import group_settings, random_weights
from quick import some_of

from keras_transformer.models.numpy_transformer import NumpyTransformer, supports_numpy
from keras_transformer.models.transformer import TransformerModel

pytestmark = pytest.mark.every_backend

SIZES = {
    "enc_vocab_size": 13,
    "dec_vocab_size": 13,
    "h": 2,
    "d_k": 3,
    "d_v": 5,
    "d_model": 8,
    "d_ff": 16,
    "n": 2,
    "rate": 0.3,
}
SOURCE = np.array([[4, 5, 6, 7, 3], [10, 9, 3, 0, 0], [8, 3, 0, 0, 0]], "int32")
TARGET = np.array([[2, 5, 7, 9], [2, 12, 4, 6], [2, 4, 4, 8]], "int32")
VARIANTS = {
    "post-norm": {},
    "pre-norm": {"norm_first": True, "epsilon": 0.1},
    "tied pre-norm": {"norm_first": True, "tie_output": True},
    "rotary": {"norm_first": True, "d_k": 4, "rotary_base": 100.0},
    "of today": {
        "norm_first": True,
        "h": 4,
        "h_kv": 2,
        "d_k": 4,
        "rotary_base": 100.0,
        "activation": "silu",
        "gated": True,
        "normalization": "rms",
        "use_bias": False,
        "qkv_bias": True,
        "rotary_scaling": (4.0,),
        "qk_norm": True,
    },
    "post-norm of today": {"normalization": "rms", "h_kv": 1},
    "Marian": {
        "activation": "swish",
        "tie_output": True,
        "share_embeddings": True,
        "output_bias": True,
        "epsilon": 1e-5,
    },
}


def make_model(model_class=TransformerModel, **kwargs):
    model = model_class(**group_settings({**SIZES, **kwargs}))
    model.build(((None, None), (None, None)))
    model.set_weights(random_weights(model))
    return model


@pytest.fixture(
    scope="module",
    params=some_of(VARIANTS, quick=("post-norm", "tied pre-norm", "of today")),
)
def model(request):
    return make_model(**request.param)


@pytest.fixture(scope="module")
def expected(model):
    return ops.convert_to_numpy(model((SOURCE, TARGET), training=False))


def assert_close(logits, expected):
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)


def test_steps_equal_the_model(model, expected):
    numpy_model = NumpyTransformer(model)
    state = numpy_model.start(SOURCE)
    for i in range(4):
        assert_close(numpy_model.step(TARGET[:, i], i, state), expected[:, i])


def test_long_sentences_after_short_ones(model):
    numpy_model, first = NumpyTransformer(model), TARGET[:, :1]
    longer = np.tile(SOURCE[:, :2], (1, 40))  # 80 tokens, more than the first tables hold
    for source in (SOURCE, longer):
        logits = numpy_model.step(first[:, 0], 0, numpy_model.start(source))
        assert_close(logits, ops.convert_to_numpy(model((source, first), training=False))[:, 0])


def test_sentences_that_leave_and_rows_that_change_places(model, expected):
    numpy_model = NumpyTransformer(model)
    state = numpy_model.start(SOURCE)
    numpy_model.step(TARGET[:, 0], 0, state)
    state.select(np.arange(3).repeat(2))
    # The rows of sentence 1 take the tokens of sentences 1 and 2, and then change places.
    numpy_model.step(TARGET[[0, 0, 1, 2, 2, 2], 1], 1, state)
    state.select(np.array([3, 2, 5, 4]), sentences=np.array([1, 2]))
    logits = numpy_model.step(TARGET[[2, 1, 2, 2], 2], 2, state)
    assert_close(logits[1:], expected[[1, 2, 2], 2])
    state.select(np.array([1, 0, 2, 3]))
    logits = numpy_model.step(TARGET[[1, 2, 2, 2], 3], 3, state)
    assert_close(logits[[0, 2, 3]], expected[[1, 2, 2], 3])


def test_the_weights_are_copied(model, expected):
    numpy_model = NumpyTransformer(model)
    weights = model.get_weights()
    model.set_weights([2 * x for x in weights])
    logits = numpy_model.step(TARGET[:, 0], 0, numpy_model.start(SOURCE))
    model.set_weights(weights)
    assert_close(logits, expected[:, 0])


def test_large_scores_stay_finite():
    model = make_model(norm_first=True, activation="silu")
    model.set_weights([50 * x for x in model.get_weights()])
    numpy_model = NumpyTransformer(model)
    with np.errstate(all="raise", under="ignore"):
        logits = numpy_model.step(TARGET[:, 0], 0, numpy_model.start(SOURCE))
    assert np.isfinite(logits).all()


@pytest.mark.slow
def test_which_models_are_supported():
    class Subclass(TransformerModel):
        pass

    assert supports_numpy(make_model())
    assert not supports_numpy(make_model(activation="gelu"))
    for option in ({"window": 3}, {"relative_positions": "t5"}):
        assert not supports_numpy(make_model(**option))
    assert not supports_numpy(make_model(dtype="mixed_bfloat16"))
    assert not supports_numpy(TransformerModel(**group_settings(SIZES)))  # not built
    assert not supports_numpy(make_model(model_class=Subclass))
    quantized = make_model()
    quantized.decoder.layers[0].feed_forward.inner.quantize("int8")
    assert not supports_numpy(quantized)
    assert not supports_numpy(keras.Sequential([keras.layers.Dense(1)]))
