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
    normal,
    numpy,
    random_weights,
)

from keras_transformer.layers import Encoder, EncoderLayer, MultiHeadAttention

SIZES = {**BLOCK_SIZES, "rate": 0.5}  # no step drops anything
MAKERS = {
    "layer": lambda **kwargs: EncoderLayer(**SIZES, **kwargs),
    "encoder": lambda **kwargs: Encoder(**SIZES, n=2, **kwargs),
}
EITHER = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
X = normal(2, 5, 8)
# The second text has padding at its end and inside.
WORDS = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 1, 0]], "bool")


def with_random_weights(layer, *shapes):
    layer.build(*shapes)
    layer.set_weights(random_weights(layer))
    return layer


def steps(layer, room):
    """What `step` returns at each position, one after the other."""
    cache, outputs = layer.start(2, room), []
    for position in range(5):
        seen = np.pad(WORDS[:, : position + 1], ((0, 0), (0, room - position - 1)))
        y, cache = layer.step(X[:, position : position + 1], position, cache, seen[:, None])
        outputs.append(numpy(y))
    return np.concatenate(outputs, axis=1)


@EITHER
@BOTH_NORMS
@pytest.mark.parametrize("room", (5, 8))
def test_step_after_step_computes_what_call_does_with_a_causal_mask(make, norm_first, room):
    layer = with_random_weights(make(norm_first=norm_first), X.shape)
    expected = numpy(layer(X, attention_mask=causal(2, 5) & WORDS[:, None]))
    np.testing.assert_allclose(steps(layer, room), expected, atol=1e-5)


@pytest.mark.parametrize("room", (5, 8))
def test_the_attention_alone_does_so_too(room):
    attention = with_random_weights(MultiHeadAttention(2, 3, 5, 8), X.shape, X.shape, X.shape)
    expected = numpy(attention(X, X, X, attention_mask=causal(2, 5) & WORDS[:, None]))
    np.testing.assert_allclose(steps(attention, room), expected, atol=1e-5)


@EITHER
@pytest.mark.parametrize("policy", HALF_POLICIES)
def test_half_precision_is_kept_in_half(make, policy):
    kept = keras.tree.flatten(make(dtype=policy).start(2, 5))
    assert {dtype_of(x) for x in kept} == {HALF_POLICIES[policy]}
