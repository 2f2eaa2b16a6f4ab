"""Scaled dot-product attention."""

import math

import keras
from keras import ops

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.record_attention import note_attention, note_vectors

_CLOSED = -1e38  # a score beside which every other vanishes; finite in float32


@keras.saving.register_keras_serializable(package="keras_transformer")
class DotProductAttention(keras.layers.Layer):
    """Weighs values by how well their keys match each query: softmax(QKᵀ/√d_k)V.

    Shape letters: T query length, S key length, d_k and d_v the sizes of keys and values. Any
    number of leading axes is allowed: (B, …) alone, (B, N, …) inside multi-head attention.

    The softmax runs in float32 at least, so that half precision stays finite. A query that may
    attend to nothing receives zeros.

    Args:
        rate: dropout rate of the weights.

    Raises:
        ValueError: if `rate` is not in [0, 1).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 1.
    """

    def __init__(self, rate=0.0, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.dropout = Dropout(rate, dtype=self.dtype_policy, name="dropout")

    def build(self, queries_shape, keys_shape, values_shape):
        self.built = True

    def call(self, queries, keys, values, attention_mask=None):
        """Attends.

        Args:
            queries: (..., T, d_k).
            keys: (..., S, d_k).
            values: (..., S, d_v).
            attention_mask: boolean, broadcastable to (..., T, S); True = may attend.

        Returns:
            The weighted sums of values, (..., T, d_v).
        """
        note_vectors(self, queries, keys)
        scale = 1 / math.sqrt(keys.shape[-1])
        scores = ops.einsum("...td,...sd->...ts", queries * scale, keys)
        weights = masked_softmax(scores, attention_mask)
        return weighted_sum(self, weights, values, self.dropout)

    def get_config(self):
        return {**super().get_config(), "rate": self.rate}

    def compute_output_shape(self, queries_shape, keys_shape, values_shape):
        return (*queries_shape[:-1], values_shape[-1])


def masked_softmax(scores, attention_mask=None):
    """Weights that sum to 1 over the open keys, or are all 0 where none is open.

    Args:
        scores: (..., T, S), of any float type; computed in float32 at least. Finite;
            in float16, where products overflow, the closed ones may be infinite.
        attention_mask: boolean, broadcastable to (..., T, S); True = may attend.

    Returns:
        (..., T, S), float32 at least.
    """
    may_overflow = keras.backend.standardize_dtype(scores.dtype) == "float16"
    scores = ops.cast(scores, keras.backend.result_type(scores.dtype, "float32"))
    if attention_mask is None:
        return ops.softmax(scores)
    if may_overflow:
        scores = ops.where(attention_mask, scores, _CLOSED)  # no sum closes an infinite score
    else:
        # Faster, for the mask is smaller than the scores, and what is added has no gradient.
        closed = ops.cast(ops.logical_not(attention_mask), scores.dtype)
        scores = scores + closed * _CLOSED
    # A row that is closed altogether holds equal scores, over which the softmax is uniform.
    weights = ops.softmax(scores)
    return weights * ops.cast(ops.any(attention_mask, axis=-1, keepdims=True), scores.dtype)


def weighted_sum(layer, weights, values, dropout=None):
    """Sums values (..., S, d_v) by weights (..., T, S), which are noted as those of the layer."""
    note_attention(layer, weights)
    weights = ops.cast(weights, values.dtype)
    return ops.matmul(dropout(weights) if dropout else weights, values)
