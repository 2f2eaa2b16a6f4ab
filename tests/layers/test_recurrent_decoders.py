"""The recurrent decoders."""

import numpy as np
import pytest
from keras import tree
from layer_contract import (
    HALF_POLICIES,
    LayerContract,
    check_refused,
    check_sizes_are_refused,
    dtype_of,
    normal,
    numpy,
    padding,
    random_weights,
)

from keras_transformer.layers import BahdanauDecoder, LuongDecoder, record_attention

SIZES = {"units": 4, "d_model": 6}
X, Z, MASK = normal(2, 5, 6), normal(2, 7, 4, seed=1), padding(7, 4)
MAKERS = {
    "bahdanau": lambda **kwargs: BahdanauDecoder(**SIZES, **kwargs),
    "bahdanau_lstm": lambda **kwargs: BahdanauDecoder(**SIZES, cell="lstm", **kwargs),
    "luong": lambda **kwargs: LuongDecoder(**SIZES, **kwargs),
    "luong_lstm": lambda **kwargs: LuongDecoder(**SIZES, cell="lstm", score="dot", **kwargs),
    "monotonic": lambda **kwargs: LuongDecoder(**SIZES, score="concat", window=2, **kwargs),
    "predictive": lambda **kwargs: LuongDecoder(
        **SIZES, window=2, alignment="predictive", **kwargs
    ),
}
ALL = pytest.mark.parametrize("name", MAKERS)


class Contract(LayerContract):
    def inputs(self):
        return {"x": X, "encoder_output": Z, "attention_mask": MASK}


class TestBahdanau(Contract):
    def make(self, **kwargs):
        return BahdanauDecoder(**SIZES, **kwargs)


@pytest.mark.every_backend
class TestLuong(Contract):
    def make(self, **kwargs):
        return MAKERS["predictive"](cell="lstm", **kwargs)


def make(name, **kwargs):
    layer = MAKERS[name](**kwargs)
    layer.build(X.shape, Z.shape)
    layer.set_weights(random_weights(layer))
    return layer


def steps(layer, **kwargs):
    """Returns the outputs and attention weights of `step` at all positions."""
    cache, memory = layer.start(Z)
    outputs, attended = [], []
    for t in range(5):
        with record_attention() as weights:
            y, cache = layer.step(X[:, t : t + 1], t, cache, memory, **kwargs)
        outputs.append(numpy(y))
        attended.append(numpy(weights[layer.attention]))
    return np.concatenate(outputs, axis=1), np.concatenate(attended, axis=1)


@pytest.mark.parametrize(
    "name",
    (
        "bahdanau",
        pytest.param("bahdanau_lstm", marks=pytest.mark.every_backend),
        "luong",
        "luong_lstm",
        "monotonic",
        pytest.param("predictive", marks=pytest.mark.every_backend),
    ),
)
def test_steps_match_call(name):
    layer, mask = make(name), MASK
    with record_attention() as weights:
        full_output = numpy(layer(X, Z, attention_mask=mask))
    assert list(weights) == [layer.attention]
    outputs, attended = steps(layer, attention_mask=mask)
    np.testing.assert_allclose(outputs, full_output, atol=1e-5)
    np.testing.assert_allclose(attended, numpy(weights[layer.attention]), atol=1e-5)
    np.testing.assert_allclose(numpy(layer(X, Z, attention_mask=mask)), full_output, atol=1e-6)


def test_steps_without_a_mask_match_call():
    for name in ("bahdanau", "predictive"):
        layer = make(name)
        np.testing.assert_allclose(steps(layer)[0], numpy(layer(X, Z)), atol=1e-5)


def test_bahdanau_equals_its_equations():
    """Computes one step: context of the initial state, recurrent cell, maxout."""
    layer = make("bahdanau")
    state = numpy(layer.first_states[0](Z[:, 0]))
    context = numpy(layer.attention(state[:, None], Z))[:, 0]
    read = np.concatenate([X[:, 0], context], axis=-1)
    state, _ = layer.recurrent_cell(read, [state])
    pieces = layer.maxout(np.concatenate([numpy(state), read], axis=-1))
    expected = numpy(pieces).reshape(2, 2, 6).max(axis=1)
    np.testing.assert_allclose(numpy(layer(X, Z))[:, 0], expected, atol=1e-5)


def test_luong_equals_its_equations():
    """Computes two steps: the cell reads the previous attentional state, initially zeros."""
    layer = make("luong")
    (w,) = layer.combination.get_weights()
    state, attentional = layer.first_states[0](Z[:, 0]), np.zeros((2, 6))
    for t in range(2):
        state, _ = layer.recurrent_cell(np.concatenate([X[:, t], attentional], -1), [state])
        context = numpy(layer.attention(numpy(state)[:, None], Z))[:, 0]
        attentional = np.tanh(np.concatenate([context, numpy(state)], axis=-1) @ w)
        np.testing.assert_allclose(numpy(layer(X, Z))[:, t], attentional, atol=1e-5)


@ALL
@pytest.mark.parametrize("policy", HALF_POLICIES)
def test_steps_return_half_precision(name, policy):
    layer = MAKERS[name](dtype=policy)
    layer.build(X.shape, Z.shape)
    cache, memory = layer.start(Z)
    y, following = layer.step(X[:, :1], 0, cache, memory)
    assert dtype_of(y) == HALF_POLICIES[policy]
    for before, after in zip(tree.flatten(cache), tree.flatten(following), strict=True):
        assert dtype_of(before) == dtype_of(after)


def test_bad_arguments_are_refused():
    for layer_class in (BahdanauDecoder, LuongDecoder):

        def make(layer_class=layer_class, **kwargs):
            return layer_class(**{**SIZES, **kwargs})

        check_sizes_are_refused(make, *SIZES)
        check_refused(make, cell="rnn")
        with pytest.raises(ValueError, match=r"`d_model`=6. Received: 5$"):
            make().build((None, None, 5), Z.shape)
    check_refused(lambda **x: LuongDecoder(**SIZES, **x), score="sum")
    check_refused(lambda **x: LuongDecoder(**SIZES, **x), window=0)
