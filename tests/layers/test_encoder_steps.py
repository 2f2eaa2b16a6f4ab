"""Going on step by step: what a causal encoder, its layer and its attention have in common."""

import keras
import numpy as np
import pytest
from layer_contract import (
    BLOCK_SIZES,
    BOTH_NORMS,
    HALF_POLICIES,
    causal,
    dtype_of,
    gathered,
    normal,
    random_weights,
)

from keras_transformer.layers import Encoder, EncoderLayer, MultiHeadAttention
from keras_transformer.testing import check_cache

SIZES = {**BLOCK_SIZES, "rate": 0.5}  # no step drops anything
MAKERS = {
    "layer": lambda **kwargs: EncoderLayer(**gathered({**SIZES, **kwargs})),
    "encoder": lambda **kwargs: Encoder(**gathered({**SIZES, **kwargs, "n": 2})),
}
EITHER = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
X = normal(2, 5, 8)
# The second text has padding at its end and inside.
WORDS = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 1, 0]], "bool")
MASK = causal(2, 5) & WORDS[:, None]


def with_random_weights(layer, *shapes):
    layer.build(*shapes)
    layer.set_weights(random_weights(layer))
    return layer


def check_steps(layer, full, room):
    """`step` computes at each position what `full` computes for all."""

    def step(x, cache, t):
        seen = np.pad(WORDS[:, : t + 1], ((0, 0), (0, room - t - 1)))
        return layer.step(x, t, cache, seen[:, None])

    check_cache(full, step, layer.start(2, room), X)


@EITHER
@BOTH_NORMS
@pytest.mark.parametrize("room", (pytest.param(5, marks=pytest.mark.exhaustive), 8))
def test_step_after_step_computes_what_call_does_with_a_causal_mask(make, norm_first, room):
    layer = with_random_weights(make(norm_first=norm_first), X.shape)
    check_steps(layer, lambda x: layer(x, attention_mask=MASK), room)


@pytest.mark.every_backend
@pytest.mark.parametrize("room", (5, 8))
def test_the_attention_alone_does_so_too(room):
    attention = with_random_weights(MultiHeadAttention(2, 3, 5, 8), X.shape, X.shape, X.shape)
    check_steps(attention, lambda x: attention(x, x, x, attention_mask=MASK), room)


@EITHER
@pytest.mark.parametrize("policy", HALF_POLICIES)
def test_half_precision_is_kept_in_half(make, policy):
    kept = keras.tree.flatten(make(dtype=policy).start(2, 5))
    assert {dtype_of(x) for x in kept} == {HALF_POLICIES[policy]}
