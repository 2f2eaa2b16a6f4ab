"""Scaled dot-product attention."""

import math
from typing import Any

import keras
from keras import ops

from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._attention_mask_mixin import AttentionMaskMixin
from keras_transformer.layers._fused_attention import fused_attention, has_fused_kernel
from keras_transformer.layers._parts import PartsMixin
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.record_attention import (
    is_recording,
    store_attention,
    store_queries_and_keys,
)
from keras_transformer.masks import check_mask, with_implicit_mask
from keras_transformer.settings import names_ours

_MASKED_SCORE = -1e38  # its softmax is 0; finite in float32


@keras.saving.register_keras_serializable(package="keras_transformer")
class DotProductAttention(PartsMixin, AttentionMaskMixin, keras.layers.Layer):
    """Scaled dot-product attention: softmax(QKᵀ/√d_k)V.

    The softmax is computed in float32 or higher, so it stays finite in half precision. A query
    whose keys are all masked returns zeros.

    Shape letters: T query length, S key length, d_k and d_v the sizes of keys and values. There may
    be any number of leading axes, such as (B, N, …) in multi-head attention. Keys and values with
    fewer heads, (B, M, …), serve N / M heads of the queries each.

    Args:
        rate: dropout rate of the attention weights.

    Raises:
        ValueError: if `rate` is not in [0, 1).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 1.

    Example:
        >>> attention = kt.DotProductAttention()
        >>> queries, keys = np.zeros((1, 1, 2)), np.zeros((1, 3, 2))  # equal scores
        >>> values = np.array([[[1.0], [3.0], [8.0]]])
        >>> mask = np.array([[[True, True, False]]])
        >>> ops.convert_to_numpy(attention(queries, keys, values, attention_mask=mask))
        array([[[2.]]], dtype=float32)
    """

    @names_ours
    def __init__(self, rate: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate
        self.dropout = Dropout(rate, dtype=self.dtype_policy, name="dropout")

    def build(self, queries_shape: Shape, keys_shape: Shape, values_shape: Shape) -> None:
        self.built = True

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        d_k = kwargs.get("d_k", args[3] if len(args) > 3 else None)
        if isinstance(d_k, int):
            raise TypeError(
                "The size of the keys is read from their last axis: omit it and call "
                f"attention(queries, keys, values, attention_mask=mask). Received: d_k={d_k}"
            )
        return super().__call__(*args, **kwargs)

    def call(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        attention_mask: Tensor | None = None,
        keys_mask: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Computes the attention.

        Args:
            queries: (..., T, d_k).
            keys: (..., S, d_k).
            values: (..., S, d_v).
            attention_mask: boolean, broadcastable to (..., T, S); True = may attend.
            keys_mask: implicit mask of the keys, (..., S), which Keras passes; hides keys as well.
            bias: added to the scores, broadcastable to (..., T, S).

        Returns:
            The weighted sum of the values for each query, (..., T, d_v).
        """
        attention_mask = with_implicit_mask(attention_mask, keys_mask)
        if bias is None:  # their products would not be the scores
            store_queries_and_keys(self, queries, keys)
        is_plain = bias is None and self._needs_no_weights()
        if is_plain and has_fused_kernel(queries, keys, values):
            return fused_attention(queries, keys, values, attention_mask)
        scale = 1 / math.sqrt(keys.shape[-1])
        scores = _per_group(_products, queries * scale, keys)  # (..., T, S)
        weights = masked_softmax(scores, attention_mask, bias)
        store_attention(self, weights)
        return _per_group(ops.matmul, self.dropout(ops.cast(weights, values.dtype)), values)

    def _needs_no_weights(self):
        has_dropout = not isinstance(self.dropout, Dropout) or self.dropout.rate > 0
        return not has_dropout and not is_recording()

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate}

    def compute_output_shape(
        self, queries_shape: Shape, keys_shape: Shape, values_shape: Shape
    ) -> Shape:
        return (*queries_shape[:-1], values_shape[-1])


def _products(queries, keys):
    return ops.einsum("...td,...sd->...ts", queries, keys)


def _per_group(function, x, y):
    """Applies a product to x, (B, N, T, …), and y, (B, M, S, …), of which each head serves N / M.

    The heads of a group are adjacent, so that they become more rows of one product.
    """
    # A single head is broadcast instead: TensorFlow 2.21 with oneDNN overwrites memory in a product
    # of (B, 1, …) and (1, 1, …).
    if len(x.shape) != 4 or y.shape[1] in (1, x.shape[1]):
        return function(x, y)
    batch, heads, length, size = ops.shape(x)
    grouped = ops.reshape(x, (batch, y.shape[1], heads // y.shape[1] * length, size))
    z = function(grouped, y)
    return ops.reshape(z, (batch, heads, length, ops.shape(z)[-1]))


def masked_softmax(scores, attention_mask=None, bias=None):
    """Computes the softmax over the keys that are not masked.

    Args:
        scores: (..., T, S), of any float dtype. They must be finite, except that masked scores in
            float16 may have overflowed to infinity.
        attention_mask: boolean, broadcastable to (..., T, S); True = may attend.
        bias: added to the scores, broadcastable to (..., T, S); or None.

    Returns:
        Attention weights, (..., T, S), float32 or higher. They sum to 1 for each query, or are all
        0 if all keys are masked.

    Raises:
        ValueError: if the mask is not boolean.
    """
    may_overflow = keras.backend.standardize_dtype(scores.dtype) == "float16"
    scores = ops.cast(scores, keras.backend.result_type(scores.dtype, "float32"))
    if bias is not None:
        scores = scores + ops.cast(bias, scores.dtype)
    if attention_mask is None:
        return ops.softmax(scores)
    check_mask(attention_mask)
    if may_overflow:
        # An addition would not mask an infinite score.
        scores = ops.where(attention_mask, scores, _MASKED_SCORE)
    else:
        # Faster than `where`: the mask is smaller than the scores, and the gradient of an addition
        # costs nothing.
        masked = ops.cast(ops.logical_not(attention_mask), scores.dtype)
        scores = scores + masked * _MASKED_SCORE
    # All scores of a fully masked row are equal, so its softmax is uniform and must be set to 0.
    weights = ops.softmax(scores)
    return weights * ops.cast(ops.any(attention_mask, axis=-1, keepdims=True), scores.dtype)
