"""Attention and recurrence step by step: short functions to read, and references for the layers.

Every function takes one sequence, without a batch axis. Shape letters: T tokens or queries, S keys,
d size of queries and keys, F features, H hidden units.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

from keras import ops

from keras_transformer._utils.types import Tensor


def general_attention(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Computes scaled dot-product attention for all queries at once: softmax(QKᵀ/√d)V.

    Args:
        queries: floats, (T, d).
        keys: floats, (S, d).
        values: floats, (S, any).

    Returns:
        The weighted sums of the values, (T, any), and the attention weights, (T, S). Each row of
        the weights sums to 1.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 1.
    """
    scores = ops.matmul(queries, ops.transpose(keys)) / math.sqrt(keys.shape[-1])
    weights = ops.softmax(scores)
    return ops.matmul(weights, values), weights


def general_attention_of_one(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Computes one row of `general_attention`: a single query, with a loop over the keys.

    Args:
        query: floats, (d,).
        keys: floats, (S, d).
        values: floats, (S, any).

    Returns:
        The weighted sum of the values, (any,), and the attention weights, (S,).
    """
    scores = [ops.sum(query * key) / math.sqrt(key.shape[0]) for key in keys]
    exponentials = [ops.exp(score) for score in scores]
    weights = [x / sum(exponentials) for x in exponentials]
    output = sum(weight * value for weight, value in zip(weights, values, strict=True))
    return output, ops.stack(weights)


def plain_self_attention(x: Tensor) -> tuple[Tensor, Tensor]:
    """Computes self-attention without projections and without scaling: softmax(XXᵀ)X.

    Each token becomes a weighted mean of all tokens. A weight is large where the dot product of two
    vectors is large. There is nothing to learn.

    Args:
        x: the vectors of the tokens, (T, d).

    Returns:
        The weighted means, (T, d), and the attention weights, (T, T). Each row of the weights sums
        to 1.
    """
    weights = ops.softmax(ops.matmul(x, ops.transpose(x)))
    return ops.matmul(weights, x), weights


def self_attention(
    x: Tensor,
    query_projection: Tensor,
    key_projection: Tensor,
    value_projection: Tensor,
) -> tuple[Tensor, Tensor]:
    """Computes self-attention of one head, with projections to queries, keys and values.

    Args:
        x: the vectors of the tokens, (T, F).
        query_projection, key_projection: the matrices W_Q and W_K, (F, d).
        value_projection: the matrix W_V, (F, any).

    Returns:
        The output of the head, (T, any), and the attention weights, (T, T). Each row of the weights
        sums to 1.
    """
    projections = (query_projection, key_projection, value_projection)
    return general_attention(*(ops.matmul(x, projection) for projection in projections))


def multi_head_self_attention(
    x: Tensor, heads: Iterable[tuple[Tensor, Tensor, Tensor]], output_projection: Tensor
) -> tuple[Tensor, Tensor]:
    """Computes multi-head self-attention: the outputs of the heads, concatenated and projected.

    Args:
        x: the vectors of the tokens, (T, F).
        heads: for each head the three projections of `self_attention`.
        output_projection: the matrix W_O, (number of heads · size of the values, any).

    Returns:
        The output, (T, any), and the attention weights of each head, (heads, T, T).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.2.2.
    """
    outputs, weights = zip(*(self_attention(x, *head) for head in heads), strict=True)
    return ops.matmul(ops.concatenate(outputs, axis=-1), output_projection), ops.stack(weights)


def simple_rnn(
    x: Tensor,
    kernel: Tensor,
    recurrent_kernel: Tensor,
    bias: Tensor,
    activation: Callable[..., Any] | None = None,
) -> Tensor:
    """Computes the hidden states of a recurrent layer, as `keras.layers.SimpleRNN` does.

    h_t = f(x_t W_x + h_{t-1} W_h + b), starting from h_0 = 0.

    Args:
        x: the input sequence, (T, F).
        kernel: W_x, (F, H).
        recurrent_kernel: W_h, (H, H).
        bias: b, (H,).
        activation: the function f, or None for the identity.

    Returns:
        The hidden states h_1 … h_T, (T, H).
    """
    state, states = ops.zeros_like(bias), []
    for x_t in x:
        state = ops.matmul(x_t, kernel) + ops.matmul(state, recurrent_kernel) + bias
        state = state if activation is None else activation(state)
        states.append(state)
    return ops.stack(states)
