"""Gradient accumulation: the token counts that average the loss over several batches."""

import keras
import numpy as np

from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer.data.batches import LengthBuckets
from keras_transformer.data.token_shards import ShardedBuckets

# Classes that make the rows of a part only; a subclass or a wrapper may change whole batches.
_READ_PARTS = (LengthBuckets, ShardedBuckets)


def accumulation(optimizer):
    """Returns the number of batches whose gradients an optimizer accumulates for one update."""
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
    return optimizer.gradient_accumulation_steps or 1


def with_token_counts(batches, start=0, steps=1, multiple=1, part=0, parts=1):
    """Yields batches with the token count that their summed loss is to be divided by.

    With gradient accumulation, Keras averages the gradients of `steps` batches. The count yielded
    with each of them is the mean number of target tokens of these batches. The averaged gradient is
    then that of one large batch, even if the batches differ in their number of tokens.

    Args:
        batches: a sequence of `((source, target_input), target)`, integers (B, S), (B, T) and
            (B, T); its length must be a multiple of `steps`.
        start: index of the first batch.
        steps: number of batches per update.
        multiple: rows of padding are added until the number of rows is a multiple of this.
        part: index of the part of the rows to yield: that of this process.
        parts: number of parts, a divisor of `multiple`.

    Yields:
        `(inputs, target, count)`, the rows of the part, and the count of all rows as a float32
        scalar.
    """
    group, first = [], None
    for i in range(start, len(batches)):
        if first != i - i % steps:
            first = i - i % steps
            group = [
                _read_part(batches, j, part, parts, multiple) for j in range(first, first + steps)
            ]
            tokens = sum(tokens for _, tokens in group)
        yield *group[i - first][0], np.float32(max(1, tokens) / steps)


def _read_part(batches, index, part, parts, multiple):
    """Returns a part of the rows of a batch, and the number of target tokens of all rows."""
    if type(batches) in _READ_PARTS:
        return batches.read_part(index, part, parts, multiple)
    (source, target_input), target = read_batch(batches[index], multiple)
    size = len(target) // parts
    own = slice(part * size, (part + 1) * size)
    tokens = np.count_nonzero(target != PADDING_ID)
    return ((source[own], target_input[own]), target[own]), tokens


def read_batch(batch, multiple=1):
    """Returns a batch as int32 with rows of padding, or raises a ValueError for its structure."""
    try:
        (source, target_input), target = batch
        arrays = [np.asarray(ids) for ids in (source, target_input, target)]
    except (TypeError, ValueError):
        arrays = []
    shapes = [ids.shape for ids in arrays if ids.ndim == 2 and ids.dtype.kind in "iu"]
    if len(shapes) < 3 or shapes[1] != shapes[2] or shapes[0][0] != shapes[1][0]:
        found = keras.tree.map_structure(
            lambda x: f"{getattr(x, 'dtype', x)} {getattr(x, 'shape', '')}", batch
        )
        raise ValueError(
            "Each batch must be ((source, target_input), target), integer arrays of shapes "
            f"((B, S), (B, T)) and (B, T). Received: {excerpt(found)}"
        )
    padding = ((0, -len(target) % multiple), (0, 0))
    source, target_input, target = (
        np.pad(ids, padding, constant_values=PADDING_ID) if padding[0][1] else ids
        for ids in (array.astype("int32", copy=False) for array in arrays)
    )
    return (source, target_input), target
