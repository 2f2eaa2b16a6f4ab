"""Several batches for one update of the weights."""

import numpy as np

from keras_transformer._utils.special_tokens import PADDING_ID


def with_words(batches, start=0, steps=1, multiple=1):
    """Each batch with the number of words by which the sum of its losses is to be divided.

    Keras takes the mean of the gradients of `steps` batches. Each divided by the mean number of
    words of these batches, that is the gradient of the mean over all their words: the same as that
    of one large batch, although the batches hold different numbers of words.

    Args:
        batches: a `LengthBuckets` whose length is a multiple of `steps`.
        start: index of the first batch.
        steps: number of batches for one update.
        multiple: rows of padding are added to a batch until their number is a multiple of this.

    Yields:
        `(inputs, target, words)`, the words as a float32 scalar.
    """
    group, first = [], None
    for i in range(start, len(batches)):
        if first != i - i % steps:
            first = i - i % steps
            group = [batches[j] for j in range(first, first + steps)]
            words = sum(np.count_nonzero(target != PADDING_ID) for _, target in group)
        inputs, target = _with_rows(group[i - first], multiple)
        yield inputs, target, np.float32(max(1, words) / steps)


def _with_rows(batch, multiple):
    (source, target_input), target = batch
    fill = ((0, -len(target) % multiple), (0, 0))
    source, target_input, target = (
        np.pad(ids, fill, constant_values=PADDING_ID) if fill[0][1] else ids
        for ids in (source, target_input, target)
    )
    return (source, target_input), target
