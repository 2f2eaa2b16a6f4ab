"""Attention and recurrence in small steps, to read and to compare the layers with.

Every function works on one sequence, without an axis for the batch. Shape letters: T words or
queries, S keys, d their size, F features, H hidden units.
"""

import math

from keras import ops


def general_attention(queries, keys, values):
    """All queries at once: softmax(QKᵀ/√d)V.

    Args:
        queries: (T, d).
        keys: (S, d).
        values: (S, any).

    Returns:
        The weighted sums of the values (T, any), and the weights (T, S), whose rows sum to 1.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 1.
    """
    scores = ops.matmul(queries, ops.transpose(keys)) / math.sqrt(keys.shape[-1])
    weights = ops.softmax(scores)
    return ops.matmul(weights, values), weights


def general_attention_of_one(query, keys, values):
    """One query, key after key: what a row of `general_attention` is made of.

    Args:
        query: (d,).
        keys: (S, d).
        values: (S, any).

    Returns:
        The weighted sum of the values (any,), and the weights (S,).
    """
    scores = [ops.sum(query * key) / math.sqrt(key.shape[0]) for key in keys]
    odds = [ops.exp(score) for score in scores]
    weights = [x / sum(odds) for x in odds]
    output = sum(weight * value for weight, value in zip(weights, values, strict=True))
    return output, ops.stack(weights)


def plain_self_attention(x):
    """Each word as a mixture of all words, by how well their vectors agree: softmax(XXᵀ)X.

    Nothing is learned, and nothing is divided.

    Args:
        x: the words' vectors, (T, d).

    Returns:
        (T, d), and the weights (T, T), whose rows sum to 1.
    """
    weights = ops.softmax(ops.matmul(x, ops.transpose(x)))
    return ops.matmul(weights, x), weights


def self_attention(x, query_projection, key_projection, value_projection):
    """Self-attention with a matrix for each part that a word plays.

    Args:
        x: the words' vectors, (T, F).
        query_projection, key_projection: (F, d).
        value_projection: (F, any).

    Returns:
        (T, any), and the weights (T, T), whose rows sum to 1.
    """
    projections = (query_projection, key_projection, value_projection)
    return general_attention(*(ops.matmul(x, projection) for projection in projections))


def multi_head_self_attention(x, heads, output_projection):
    """Several self-attentions side by side, concatenated and projected.

    Args:
        x: the words' vectors, (T, F).
        heads: for each head the three matrices of `self_attention`.
        output_projection: (number of heads times size of their values, any).

    Returns:
        (T, any), and the weights of each head, (heads, T, T).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.2.2.
    """
    outputs, weights = zip(*(self_attention(x, *head) for head in heads), strict=True)
    return ops.matmul(ops.concatenate(outputs, axis=-1), output_projection), ops.stack(weights)


def simple_rnn(x, kernel, recurrent_kernel, bias, activation=None):
    """What `keras.layers.SimpleRNN` computes: h_t = f(x_t W_x + h_{t-1} W_h + b), from h_0 = 0.

    Args:
        x: (T, F).
        kernel: W_x, (F, H).
        recurrent_kernel: W_h, (H, H).
        bias: b, (H,).
        activation: the function f; None: h stays linear.

    Returns:
        The states h_1 … h_T, (T, H).
    """
    state, states = ops.zeros_like(bias), []
    for x_t in x:
        state = ops.matmul(x_t, kernel) + ops.matmul(state, recurrent_kernel) + bias
        state = state if activation is None else activation(state)
        states.append(state)
    return ops.stack(states)
