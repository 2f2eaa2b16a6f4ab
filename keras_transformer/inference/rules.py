"""Which tokens a search may choose."""

import math
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, UNKNOWN_ID

# What a plan says of a position, if not that a certain token is forced there.
FREE = PADDING_ID
GO_ON = -1  # any token but the end
OVER = -2  # nothing: the position before is the last one


def make_plan(shortest, longest, length, forced=()):
    """The plan of one sentence.

    Args:
        shortest: number of tokens before which it must not end.
        longest: number of tokens, the end included, after which it ends in any case.
        length: L, at least `longest`.
        forced: ids of the tokens with which it begins.

    Returns:
        int32 (L,).
    """
    plan = np.full(length, FREE, dtype="int32")
    plan[:shortest] = GO_ON
    plan[: len(forced)] = forced
    plan[longest:] = OVER
    return plan


class Rules(NamedTuple):
    """What is asked of each row.

    Args:
        plan: int32 (R, L), see `make_plan`.
        with_forced: whether a plan forces a token.
        no_repeat_ngram_size: number of tokens of which no sequence may occur twice; 0: any may.
        allow_unknown: whether the unknown word may be chosen.
    """

    plan: Any
    with_forced: bool = True
    no_repeat_ngram_size: int = 0
    allow_unknown: bool = False

    def repeat(self, rows):
        """The same for `rows` rows next to each other instead of each one."""
        return self._replace(plan=ops.repeat(self.plan, rows, axis=0))

    def longest(self):
        """int32 (R,), the number of tokens that each row may have, its end included."""
        return ops.sum(ops.cast(self.plan != OVER, "int32"), axis=1)

    def apply(self, logits, tokens, position, words_axis=1):
        """Makes the forbidden tokens impossible.

        Where repetitions and the least length together leave nothing, the end is allowed.

        Args:
            logits: float32 (R, V), or (V, R) if `words_axis` is 0.
            tokens: int32 (R, L), those found so far, then padding.
            position: int32 scalar, their number.
            words_axis: the axis of the words.

        Returns:
            The logits with -inf for each token that may not be chosen.
        """
        ids = ops.arange(logits.shape[words_axis], dtype="int32")
        ids = ops.expand_dims(ids, 1 - words_axis)
        here = ops.expand_dims(ops.take(self.plan, position, axis=1), words_axis)
        # The special tokens are the first ones: changing their logits in place beats a mask over
        # all words.
        first = tuple(slice(END_ID + 1 if axis == words_axis else None) for axis in (0, 1))
        special = ids[first]
        allowed = ops.logical_and(special == END_ID, here != GO_ON)
        if self.allow_unknown:
            allowed = ops.logical_or(allowed, special == UNKNOWN_ID)
        free = ops.where(allowed, logits[first], -math.inf)
        free = ops.slice_update(logits, (0, 0), free)
        if self.no_repeat_ngram_size:
            row, token = _repetitions(tokens, position, self.no_repeat_ngram_size)
            where = ops.stack([row, token] if words_axis == 1 else [token, row], axis=1)
            impossible = ops.full((ops.shape(row)[0],), -math.inf, dtype=logits.dtype)
            free = ops.scatter_update(free, where, impossible)
            free = _end_where_stuck(free, logits, words_axis)
        if self.with_forced:
            only = ops.where(ids == here, logits, -math.inf)
            free = ops.where(here > FREE, only, free)
        return free


def _end_where_stuck(free, logits, words_axis):
    """The logits `free` with that of the end wherever no token has been left."""
    stuck = ops.max(free, axis=words_axis, keepdims=True) == -math.inf
    end = ops.where(stuck, ops.take(logits, [END_ID], axis=words_axis), -math.inf)
    start = (0, END_ID) if words_axis == 1 else (END_ID, 0)
    here = ops.take(free, [END_ID], axis=words_axis)
    return ops.slice_update(free, start, ops.maximum(here, end))


def _repetitions(tokens, position, size):
    """The tokens that would end a sequence of `size` tokens for the second time.

    Args:
        tokens: int32 (R, L).
        position: int32 scalar.
        size: number of tokens.

    Returns:
        Their rows and ids, int32 vectors of one length. The padding, which is forbidden anyway,
        stands for "no token".
    """
    rows, length = ops.shape(tokens)
    tokens = ops.pad(tokens, ((0, 0), (0, size - 1)))  # so that one begins at every position
    # A start is a match if the tokens from there are the last ones, and one follows them.
    match = ops.expand_dims(ops.arange(length) + size - 1 < position, 0)
    match = ops.broadcast_to(match, (rows, length))
    for k in range(size - 1):
        last = ops.take(tokens, ops.maximum(position - size + 1 + k, 0), axis=1)
        match = ops.logical_and(match, tokens[:, k : length + k] == ops.expand_dims(last, 1))
    forbidden = ops.where(match, tokens[:, size - 1 :], PADDING_ID)
    row = ops.broadcast_to(ops.expand_dims(ops.arange(rows), 1), ops.shape(forbidden))
    return ops.reshape(row, (-1,)), ops.reshape(forbidden, (-1,))
