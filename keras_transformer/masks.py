"""Boolean attention masks: True = may attend.

Shape letters: B batch, T query length, S key length. The masks broadcast to (B, T, S), as in
`keras.layers.MultiHeadAttention`; the attention layers add the head axis.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer._utils.types import Tensor


def padding_mask(ids: Tensor) -> Tensor:
    """Returns the mask that hides padding tokens.

    Args:
        ids: integer token ids, (B, S).

    Returns:
        Boolean mask, (B, 1, S): True where the token is not padding (id 0).

    Example:
        >>> ops.convert_to_numpy(kt.padding_mask(np.array([[5, 7, 0]])))
        array([[[ True,  True, False]]])
    """
    return ops.expand_dims(ops.not_equal(ids, PADDING_ID), axis=1)


def causal_mask(length: Tensor | int) -> Tensor:
    """Returns the mask that hides future positions.

    Args:
        length: integer T, the length of the sequence; or the token ids, (B, T), whose length may be
            unknown, as in a functional model.

    Returns:
        Boolean mask, (T, T), or (1, T, T) for token ids: True in the lower triangle, including the
        diagonal.

    Raises:
        ValueError: if the length is None, or an array of other axes than (B, T).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.2.3.

    Example:
        >>> ops.convert_to_numpy(kt.causal_mask(3))
        array([[ True, False, False],
               [ True,  True, False],
               [ True,  True,  True]])
    """
    if length is None:
        raise ValueError(
            "The length of a symbolic sequence is unknown: pass the token ids instead, as in "
            "kt.causal_mask(ids). Received: None"
        )
    ids: Any = length
    axes = len(getattr(ids, "shape", ()))
    if axes not in (0, 2):
        raise ValueError(
            "Pass a length T or token ids (B, T), such as kt.causal_mask(x.shape[1]) for hidden "
            f"states x. Received: shape {tuple(ids.shape)}"
        )
    if axes == 2:
        ones = ops.max(ops.ones_like(ids, "int32"), axis=0, keepdims=True)  # (1, T)
        positions = ops.cumsum(ones, axis=1)
    else:
        positions = ops.arange(length)
    return ops.expand_dims(positions, -2) <= ops.expand_dims(positions, -1)


def window_mask(length: Tensor | int, window: int) -> Tensor:
    """Returns the mask that hides distant positions: a sliding window.

    Args:
        length: integer T, the length of the sequence.
        window: distance from which on positions are hidden; 1 leaves each position only itself.

    Returns:
        Boolean mask, (T, T): True where two positions are less than `window` apart. Combined with
        `causal_mask`, each position sees the last `window` positions, including itself.

    References:
        "Longformer: The Long-Document Transformer" (Beltagy et al., 2020), section 3.1.

    Example:
        >>> ops.convert_to_numpy(kt.window_mask(3, window=2))
        array([[ True,  True, False],
               [ True,  True,  True],
               [False,  True,  True]])
    """
    check_sizes(window=window)
    return ops.abs(distances(length, length)) < window


def distances(length, keys_length, start=0):
    """Returns the position of each key minus that of each query, int32 (T, S).

    Args:
        length: T.
        keys_length: S.
        start: position of the first query; that of the first key is 0.
    """
    positions = start + ops.arange(length, dtype="int32")
    return ops.arange(keys_length, dtype="int32") - ops.expand_dims(positions, -1)


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """Combines masks with a logical AND.

    Args:
        *masks: boolean masks of broadcastable shapes. None masks nothing.

    Returns:
        Boolean mask of the broadcast shape, or None if every mask is None.

    Raises:
        ValueError: if a mask is not boolean.

    Example:
        >>> ids = np.array([[5, 7, 0]])
        >>> ops.convert_to_numpy(kt.combine_masks(kt.padding_mask(ids), kt.causal_mask(3)))
        array([[[ True, False, False],
                [ True,  True, False],
                [ True,  True, False]]])
    """
    combined = None
    for mask in masks:
        if mask is not None:
            check_mask(mask)
            combined = mask if combined is None else ops.logical_and(combined, mask)
    return combined


def with_implicit_mask(attention_mask, mask):
    """Returns an attention mask that also hides what an implicit mask hides.

    Keras attaches an implicit mask to outputs, such as those of an `Embedding` with
    `mask_zero=True`, and passes it to the argument of `call` that is named after the input.

    Args:
        attention_mask: boolean mask, or None.
        mask: implicit mask of the keys, (B, S), or None.
    """
    return combine_masks(attention_mask, None if mask is None else ops.expand_dims(mask, -2))


def check_mask(attention_mask):
    """Raises a ValueError unless a mask is boolean.

    A mask of numbers has no meaning of its own: 1 means "masked" in some libraries and "may attend"
    in others, and additive masks are 0 where a query may attend.
    """
    dtype = keras.backend.standardize_dtype(attention_mask.dtype)
    if dtype != "bool":
        raise ValueError(
            "An attention mask must be boolean, True = may attend. Pass `mask == 0` if 0 means may "
            "attend (additive masks, masks with 1 for padding), or `mask == 1` if 1 does. "
            f"Received: a mask of dtype {dtype}"
        )
