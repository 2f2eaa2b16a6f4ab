"""Step-by-step decoding with `start` and `step`, for the decoder and its layer."""

import keras
import numpy as np
import pytest
from layer_contract import (
    BLOCK_SIZES,
    HALF_POLICIES,
    causal,
    dtype_of,
    group_settings,
    normal,
    numpy,
    padding,
    random_weights,
)

from keras_transformer.layers import Decoder, DecoderLayer
from keras_transformer.testing import check_cache

SIZES = {**BLOCK_SIZES, "rate": 0.5}  # `step` must not apply dropout
MAKERS = {
    "layer": lambda **kwargs: DecoderLayer(**group_settings({**SIZES, **kwargs})),
    "decoder": lambda **kwargs: Decoder(**group_settings({**SIZES, **kwargs, "n": 2})),
}
EITHER = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
X, Z = normal(2, 5, 8), normal(2, 7, 8, seed=1)
# The second target has padding at the end and in the middle, the second source at the end.
TARGET = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 1, 0]], "bool")
SOURCE = padding(7, 3)


def with_random_weights(make, **kwargs):
    layer = make(**kwargs)
    layer.build(X.shape, Z.shape)
    layer.set_weights(random_weights(layer))
    return layer


def check_steps(layer, cache_length=5, source=SOURCE):
    """Asserts that `step` at each position gives the same output as `call`."""
    cache, memory = layer.start(Z, cache_length)

    def step(x, cache, t):
        visible = np.pad(TARGET[:, : t + 1], ((0, 0), (0, cache_length - t - 1)))
        return layer.step(x, t, cache, memory, visible[:, None], source)

    check_cache(lambda _: full_output(layer, source), step, cache, X)


def full_output(layer, source=SOURCE):
    mask = causal(2, 5) & TARGET[:, None]
    return numpy(layer(X, Z, self_attention_mask=mask, cross_attention_mask=source))


@EITHER
@pytest.mark.parametrize(
    "norm_first",
    (pytest.param(False, marks=pytest.mark.every_backend), True),
    ids=("post_norm", "pre_norm"),
)
def test_steps_match_call(make, norm_first):
    layer = with_random_weights(make, norm_first=norm_first)
    check_steps(layer)


@EITHER
def test_a_longer_cache_changes_nothing(make):
    check_steps(with_random_weights(make), cache_length=8)


@EITHER
def test_source_mask_is_optional(make):
    layer = with_random_weights(make)
    check_steps(layer, source=None)
    # The mask has an effect on this input.
    assert np.abs(full_output(layer, source=None) - full_output(layer)).max() > 0.01


@EITHER
def test_later_cache_entries_are_ignored(make):
    layer = with_random_weights(make)
    empty, memory = layer.start(Z, 5)
    full = keras.tree.map_structure(lambda x: 9 * normal(*x.shape), empty)
    visible = np.arange(5)[None, None] < 1
    y, other = (numpy(layer.step(X[:, :1], 0, c, memory, visible)[0]) for c in (empty, full))
    np.testing.assert_array_equal(other, y)


@EITHER
def test_cache_keeps_its_shapes_and_is_not_changed_in_place(make):
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
def test_half_precision_cache_is_stored_in_half_precision(make, policy):
    layer = make(dtype=policy)
    cached = keras.tree.flatten(layer.start(Z, 5))
    assert {dtype_of(x) for x in cached} == {HALF_POLICIES[policy]}
