"""Step-by-step decoding with `start` and `step`, for the encoder, its layer and its attention."""

import keras
import numpy as np
import pytest
from layer_contract import (
    BLOCK_SIZES,
    BOTH_NORMS,
    HALF_POLICIES,
    causal,
    dtype_of,
    group_settings,
    normal,
    random_weights,
)

from keras_transformer.layers import Encoder, EncoderLayer, MultiHeadAttention
from keras_transformer.testing import check_cache

SIZES = {**BLOCK_SIZES, "rate": 0.5}  # `step` must not apply dropout
MAKERS = {
    "layer": lambda **kwargs: EncoderLayer(**group_settings({**SIZES, **kwargs})),
    "encoder": lambda **kwargs: Encoder(**group_settings({**SIZES, **kwargs, "n": 2})),
}
EITHER = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
X = normal(2, 5, 8)
# The second sequence has padding at the end and in the middle.
TOKENS = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 1, 0]], "bool")
MASK = causal(2, 5) & TOKENS[:, None]


def with_random_weights(layer, *shapes):
    layer.build(*shapes)
    layer.set_weights(random_weights(layer))
    return layer


def check_steps(layer, full, cache_length):
    """Asserts that `step` at each position gives the same output as `full`."""

    def step(x, cache, t):
        visible = np.pad(TOKENS[:, : t + 1], ((0, 0), (0, cache_length - t - 1)))
        return layer.step(x, t, cache, visible[:, None])

    check_cache(full, step, layer.start(2, cache_length), X)


@EITHER
@BOTH_NORMS
@pytest.mark.parametrize("cache_length", (pytest.param(5, marks=pytest.mark.exhaustive), 8))
def test_steps_match_call_with_a_causal_mask(make, norm_first, cache_length):
    layer = with_random_weights(make(norm_first=norm_first), X.shape)
    check_steps(layer, lambda x: layer(x, attention_mask=MASK), cache_length)


@pytest.mark.every_backend
@pytest.mark.parametrize("cache_length", (5, 8))
def test_steps_of_multi_head_attention_match_call(cache_length):
    attention = with_random_weights(MultiHeadAttention(2, 3, 5, 8), X.shape, X.shape, X.shape)
    check_steps(attention, lambda x: attention(x, x, x, attention_mask=MASK), cache_length)


@EITHER
@pytest.mark.parametrize("policy", HALF_POLICIES)
def test_half_precision_cache_is_stored_in_half_precision(make, policy):
    cached = keras.tree.flatten(make(dtype=policy).start(2, 5))
    assert {dtype_of(x) for x in cached} == {HALF_POLICIES[policy]}
