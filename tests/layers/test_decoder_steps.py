"""Decoding step by step: what `start` and `step` of the decoder and its layer have in common."""

import keras
import numpy as np
import pytest
from layer_contract import (
    BLOCK_SIZES,
    HALF_POLICIES,
    causal,
    dtype_of,
    gathered,
    normal,
    numpy,
    padding,
    random_weights,
)

from keras_transformer.layers import Decoder, DecoderLayer
from keras_transformer.testing import check_cache

SIZES = {**BLOCK_SIZES, "rate": 0.5}  # no step drops anything
MAKERS = {
    "layer": lambda **kwargs: DecoderLayer(**gathered({**SIZES, **kwargs})),
    "decoder": lambda **kwargs: Decoder(**gathered({**SIZES, **kwargs, "n": 2})),
}
EITHER = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
X, Z = normal(2, 5, 8), normal(2, 7, 8, seed=1)
# The second target has padding at its end and inside, the second source at its end.
TARGET = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 1, 0]], "bool")
SOURCE = padding(7, 3)


def with_random_weights(make, **kwargs):
    layer = make(**kwargs)
    layer.build(X.shape, Z.shape)
    layer.set_weights(random_weights(layer))
    return layer


def check_steps(layer, room=5, source=SOURCE):
    """`step` computes at each position what `call` computes for all."""
    cache, memory = layer.start(Z, room)

    def step(x, cache, t):
        seen = np.pad(TARGET[:, : t + 1], ((0, 0), (0, room - t - 1)))
        return layer.step(x, t, cache, memory, seen[:, None], source)

    check_cache(lambda _: together(layer, source), step, cache, X)


def together(layer, source=SOURCE):
    mask = causal(2, 5) & TARGET[:, None]
    return numpy(layer(X, Z, self_attention_mask=mask, cross_attention_mask=source))


@EITHER
@pytest.mark.parametrize(
    "norm_first",
    (pytest.param(False, marks=pytest.mark.every_backend), True),
    ids=("post_norm", "pre_norm"),
)
def test_step_after_step_computes_what_call_does(make, norm_first):
    layer = with_random_weights(make, norm_first=norm_first)
    check_steps(layer)


@EITHER
def test_more_room_than_needed_changes_nothing(make):
    check_steps(with_random_weights(make), room=8)


@EITHER
def test_the_mask_of_the_source_may_be_left_out(make):
    layer = with_random_weights(make)
    check_steps(layer, source=None)
    # The mask has an effect on this input.
    assert np.abs(together(layer, source=None) - together(layer)).max() > 0.01


@EITHER
def test_what_lies_in_the_room_ahead_is_not_seen(make):
    layer = with_random_weights(make)
    empty, memory = layer.start(Z, 5)
    full = keras.tree.map_structure(lambda x: 9 * normal(*x.shape), empty)
    seen = np.arange(5)[None, None] < 1
    y, other = (numpy(layer.step(X[:, :1], 0, c, memory, seen)[0]) for c in (empty, full))
    np.testing.assert_array_equal(other, y)


@EITHER
def test_the_cache_keeps_its_shapes_and_the_one_given_is_not_changed(make):
    layer = with_random_weights(make)
    cache, memory = layer.start(Z, 6)
    shapes = keras.tree.map_structure(lambda x: tuple(x.shape), (cache, memory))
    layers = 2 if isinstance(layer, Decoder) else 1
    expected = [(2, 2, 6, 3), (2, 2, 6, 5)] * layers + [(2, 2, 7, 3), (2, 2, 7, 5)] * layers
    flat = [tuple(x.shape) for x in keras.tree.flatten((cache, memory))]
    assert flat == expected
    before = keras.tree.map_structure(numpy, (cache, memory))
    _, new = layer.step(X[:, :1], 3, cache, memory, np.ones((2, 1, 6), "bool"))
    assert keras.tree.map_structure(lambda x: tuple(x.shape), (new, memory)) == shapes
    for old, same in zip(*map(keras.tree.flatten, (before, (cache, memory))), strict=True):
        np.testing.assert_array_equal(numpy(same), old)
    for old, other in zip(*map(keras.tree.flatten, (cache, new)), strict=True):
        changed = (numpy(old) != numpy(other)).any(axis=(0, 1, 3))
        assert changed.tolist() == [False, False, False, True, False, False]


@EITHER
@pytest.mark.parametrize("policy", HALF_POLICIES)
def test_half_precision_is_kept_in_half(make, policy):
    layer = make(dtype=policy)
    kept = keras.tree.flatten(layer.start(Z, 5))
    assert {dtype_of(x) for x in kept} == {HALF_POLICIES[policy]}
