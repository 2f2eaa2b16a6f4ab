"""Attention by a fused kernel, which never writes the attention weights to memory."""

import math

import keras
from keras import ops

from keras_transformer._utils.devices import jax_has_cuda
from keras_transformer.masks import causal_mask

_LONG = 256  # number of tokens from which on detecting a causal mask pays


def has_fused_kernel(queries, keys, values):
    """Returns whether Keras computes this attention with a fused kernel that keeps all masks.

    It does on PyTorch, where the layer then takes a fifth less time on a CPU (float32, forward and
    backward); but in bfloat16, gradients by the kernel for CPUs take two to ten times as long as
    without it (96 sequences of 10 to 40 tokens). It also does with cuDNN on JAX: in half precision
    and, because it must compute gradients, for even lengths. On a TPU, Keras would apply the mask
    of the first sequence to the whole batch. Where cuDNN supports no head size this large, Keras
    computes what `DotProductAttention` does.

    Args:
        queries: (..., T, d_k).
        keys: (..., S, d_k).
        values: (..., S, d_v).
    """
    if len(queries.shape) != 4 or keys.shape[-1] != values.shape[-1]:
        return False
    dtypes = {keras.backend.standardize_dtype(x.dtype) for x in (queries, keys, values)}
    if keras.config.backend() == "torch":
        return queries.device.type != "cpu" or dtypes.isdisjoint({"float16", "bfloat16"})
    lengths = queries.shape[-2], keys.shape[-2]
    even = all(isinstance(length, int) and length % 2 == 0 for length in lengths)
    return jax_has_cuda() and even and dtypes in ({"float16"}, {"bfloat16"})


def repeat_heads(x, queries):
    """Repeats the heads of keys or values, (B, M, S, H), for the N heads of the queries."""
    groups = queries.shape[1] // x.shape[1]
    return x if groups == 1 else ops.repeat(x, groups, axis=1)


def fused_attention(queries, keys, values, attention_mask=None):
    """Computes softmax(QKᵀ/√d_k)V like `DotProductAttention`, without its weights.

    Args:
        queries: (B, N, T, d_k).
        keys: (B, M, S, d_k), where M divides N.
        values: (B, M, S, d_v).
        attention_mask: boolean, broadcastable to (B, N, T, S); True = may attend.

    Returns:
        (B, N, T, d_v).
    """
    keys, values = (repeat_heads(x, queries) for x in (keys, values))
    heads_last = [ops.transpose(x, (0, 2, 1, 3)) for x in (queries, keys, values)]
    scale = 1 / math.sqrt(keys.shape[-1])

    def attend(**options):
        context = ops.dot_product_attention(*heads_last, scale=scale, **options)
        return ops.transpose(context, (0, 2, 1, 3))

    def attend_masked():
        context = attend(mask=attention_mask)
        # The kernel returns the mean of the values to a query without keys.
        return context * ops.cast(ops.any(attention_mask, axis=-1, keepdims=True), context.dtype)

    if attention_mask is None:
        return attend()
    missing = 4 - len(attention_mask.shape)
    attention_mask = ops.reshape(attention_mask, (1,) * missing + ops.shape(attention_mask))
    batch, _, length, _ = ops.shape(queries)
    # The kernel takes a mask with an axis of 1 for the heads, but for no other axis.
    shape = (batch, attention_mask.shape[1], length, ops.shape(keys)[-2])
    may_be_causal = length == shape[-1] == attention_mask.shape[-2] and length >= _LONG
    attention_mask = ops.broadcast_to(attention_mask, shape)
    if not may_be_causal:
        return attend_masked()
    # Without an explicit mask, the kernel skips the hidden half, and the gradient of the mask.
    is_causal = ops.all(ops.equal(attention_mask, causal_mask(length)))
    return ops.cond(is_causal, lambda: attend(is_causal=True), attend_masked)
