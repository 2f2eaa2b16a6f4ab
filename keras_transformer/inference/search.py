"""Searching for the best translation. Knows no model."""

import math

from keras import ops

from keras_transformer.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID

# What no translation contains. Unknown words are excluded as well: the next best word says more.
_NEVER = (PADDING_ID, UNKNOWN_ID, START_ID)


def greedy_search(tokens_to_logits, state, batch_size, max_length):
    """Takes the most probable token at each position until every sequence has ended.

    Args:
        tokens_to_logits: function from the last tokens, int32 (B,), their position, an int32
            scalar, and the state to the logits of the next tokens, (B, V), and the next state. At
            position 0 the tokens are the start.
        state: what that function needs: tensors, nested in tuples or dictionaries, whose shapes
            stay the same.
        batch_size: B, the number of sequences.
        max_length: number of tokens after which a sequence ends in any case.

    Returns:
        int32, (B, max_length): the tokens without the start, with the end if it was reached, and
        then padding.
    """

    def going_on(position, last, ended, found, state):
        return ops.logical_and(position < max_length, ops.logical_not(ops.all(ended)))

    def go_on(position, last, ended, found, state):
        logits, state = tokens_to_logits(last, position, state)
        best = ops.cast(ops.argmax(_without_never(logits), axis=-1), "int32")
        last = ops.where(ended, PADDING_ID, best)
        found = ops.slice_update(found, (0, position), ops.expand_dims(last, 1))
        return position + 1, last, ops.logical_or(ended, last == END_ID), found, state

    start = ops.full((batch_size,), START_ID, dtype="int32")
    ended = ops.zeros((batch_size,), dtype="bool")
    found = ops.full((batch_size, max_length), PADDING_ID, dtype="int32")
    first = (ops.convert_to_tensor(0, dtype="int32"), start, ended, found, state)
    return ops.while_loop(going_on, go_on, first)[3]


def _without_never(logits):
    tokens = ops.arange(ops.shape(logits)[-1], dtype="int32")
    never = ops.any(ops.expand_dims(tokens, -1) == ops.convert_to_tensor(_NEVER), axis=-1)
    return ops.where(never, -math.inf, ops.cast(logits, "float32"))
