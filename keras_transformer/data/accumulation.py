"""Gradient accumulation: the token counts that average the loss over several batches."""

import numpy as np

from keras_transformer._utils.special_tokens import PADDING_ID


def with_token_counts(batches, start=0, steps=1, multiple=1):
    """Yields batches with the token count that their summed loss is to be divided by.

    With gradient accumulation, Keras averages the gradients of `steps` batches. The count yielded
    with each of them is the mean number of target tokens of these batches. The averaged gradient is
    then that of one large batch, even if the batches differ in their number of tokens.

    Args:
        batches: a `LengthBuckets` or `StreamedBuckets`; its length must be a multiple of `steps`.
        start: index of the first batch.
        steps: number of batches per update.
        multiple: rows of padding are added until the number of rows is a multiple of this.

    Yields:
        `(inputs, target, count)`, the count as a float32 scalar.
    """
    group, first = [], None
    for i in range(start, len(batches)):
        if first != i - i % steps:
            first = i - i % steps
            group = [batches[j] for j in range(first, first + steps)]
            tokens = sum(np.count_nonzero(target != PADDING_ID) for _, target in group)
        inputs, target = _pad_rows(group[i - first], multiple)
        yield inputs, target, np.float32(max(1, tokens) / steps)


def _pad_rows(batch, multiple):
    (source, target_input), target = batch
    padding = ((0, -len(target) % multiple), (0, 0))
    source, target_input, target = (
        np.pad(ids, padding, constant_values=PADDING_ID) if padding[0][1] else ids
        for ids in (source, target_input, target)
    )
    return (source, target_input), target
