"""Scaled dot-product attention, and the recorder of its weights."""

import contextlib
import contextvars
import math

import keras
import numpy as np
from keras import ops

_LOWEST_SCORE = float(np.finfo("float32").min)
_recorder = contextvars.ContextVar("attention_recorder", default=None)


@contextlib.contextmanager
def record_attention():
    """Collects the weights of every attention layer that is called inside the `with` block.

    The forward pass stays as it is, so that what is looked at is what is computed. It works where
    layers run: eagerly, or inside the function being traced (return the weights from there).

    Yields:
        A dictionary from the `DotProductAttention` layer to its weights of the last call.

    Example:
        >>> with record_attention() as weights:
        ...     multi_head_attention(x, x, x)
        >>> weights[multi_head_attention.attention].shape  # (B, N, T, S)
    """
    weights = {}
    token = _recorder.set(weights)
    try:
        yield weights
    finally:
        _recorder.reset(token)


@keras.saving.register_keras_serializable(package="keras_transformer")
class DotProductAttention(keras.layers.Layer):
    """Weighs values by how well their keys match each query: softmax(QKᵀ/√d_k)V.

    Shape letters: T query length, S key length, d_k and d_v the sizes of keys and values. Any
    number of leading axes is allowed: (B, …) alone, (B, N, …) inside multi-head attention.

    The softmax runs in float32 at least, so that half precision stays finite. A query that may
    attend to nothing receives zeros.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 1.
    """

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
        scale = 1 / math.sqrt(keys.shape[-1])
        scores = ops.matmul(queries * scale, ops.swapaxes(keys, -1, -2))  # (..., T, S)
        scores = ops.cast(scores, keras.backend.result_type(scores.dtype, "float32"))
        weights = _masked_softmax(scores, attention_mask)
        if (recorded := _recorder.get()) is not None:
            recorded[self] = weights
        return ops.matmul(ops.cast(weights, values.dtype), values)

    def compute_output_shape(self, queries_shape, keys_shape, values_shape):
        return (*queries_shape[:-1], values_shape[-1])


def _masked_softmax(scores, attention_mask):
    if attention_mask is None:
        return ops.softmax(scores)
    # A row that is closed altogether holds equal scores, over which the softmax is uniform: the
    # second `where` makes it zero.
    weights = ops.softmax(ops.where(attention_mask, scores, _LOWEST_SCORE))
    return ops.where(attention_mask, weights, 0.0)
