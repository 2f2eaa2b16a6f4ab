"""Attention masks: boolean, True = may attend.

Shape letters: B batch, T query length, S key length. The masks broadcast to (B, T, S), as those of
`keras.layers.MultiHeadAttention` do; the attention layers add the axis of the heads.
"""

from keras import ops

from keras_transformer._utils.special_tokens import PADDING_ID


def padding_mask(ids):
    """Opens every key that is not padding.

    Args:
        ids: integer token ids, (B, S).

    Returns:
        Boolean mask, (B, 1, S): the same for every query.
    """
    return ops.expand_dims(ops.not_equal(ids, PADDING_ID), axis=1)


def causal_mask(length):
    """Opens every key that does not come after its query.

    Args:
        length: integer T, the length of the sequence.

    Returns:
        Boolean mask, (T, T): the lower triangle.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.2.3.
    """
    positions = ops.arange(length)
    return ops.expand_dims(positions, 0) <= ops.expand_dims(positions, 1)


def combine_masks(*masks):
    """Opens what every given mask opens.

    Args:
        *masks: boolean masks whose shapes broadcast; None stands for an open mask.

    Returns:
        Their conjunction, or None if there is nothing but None.
    """
    combined = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else ops.logical_and(combined, mask)
    return combined
