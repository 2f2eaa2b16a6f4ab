"""Boolean attention masks: True = may attend.

Shape letters: B batch, T query length, S key length. The masks broadcast to (B, T, S), as in
`keras.layers.MultiHeadAttention`; the attention layers add the head axis.
"""

import keras
from keras import ops

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


def causal_mask(length: int) -> Tensor:
    """Returns the mask that hides future positions.

    Args:
        length: integer T, the length of the sequence.

    Returns:
        Boolean mask, (T, T): True in the lower triangle, including the diagonal.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.2.3.

    Example:
        >>> ops.convert_to_numpy(kt.causal_mask(3))
        array([[ True, False, False],
               [ True,  True, False],
               [ True,  True,  True]])
    """
    positions = ops.arange(length)
    return ops.expand_dims(positions, 0) <= ops.expand_dims(positions, 1)


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
