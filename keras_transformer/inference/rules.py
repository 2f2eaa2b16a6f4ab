"""Which tokens a search may choose."""

import math
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_transformer.special_tokens import END_ID, PADDING_ID, UNKNOWN_ID

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

    def apply(self, logits, tokens, position):
        """Makes the forbidden tokens impossible.

        Args:
            logits: float32 (R, V).
            tokens: int32 (R, L), those found so far, then padding.
            position: int32 scalar, their number.

        Returns:
            The logits with -inf for each token that may not be chosen.
        """
        here = ops.take(self.plan, position, axis=1)
        # With the words first: see `_argmax`, which turns them round again at no cost. The special
        # tokens are the first ones: changing their rows in place beats a mask over all words.
        words_first = ops.transpose(logits)
        ids = ops.expand_dims(ops.arange(logits.shape[-1], dtype="int32"), 1)
        special = ids[: END_ID + 1]
        allowed = ops.logical_and(special == END_ID, here != GO_ON)
        if self.allow_unknown:
            allowed = ops.logical_or(allowed, special == UNKNOWN_ID)
        free = ops.where(allowed, words_first[: END_ID + 1], -math.inf)
        free = ops.slice_update(words_first, (0, 0), free)
        if self.no_repeat_ngram_size:
            free = _without_repetitions(free, tokens, position, self.no_repeat_ngram_size)
        if self.with_forced:
            only = ops.where(ids == here, words_first, -math.inf)
            free = ops.where(here > FREE, only, free)
        return ops.transpose(free)


def _without_repetitions(logits, tokens, position, size):
    """Forbids each token that would end a sequence of `size` tokens for the second time.

    Args:
        logits: float32 (V, R).
        tokens: int32 (R, L).
        position: int32 scalar.
        size: number of tokens.

    Returns:
        (V, R).
    """
    rows, length = ops.shape(tokens)
    tokens = ops.pad(tokens, ((0, 0), (0, size - 1)))  # so that one begins at every position
    # A start is a match if the tokens from there are the last ones, and one follows them.
    match = ops.expand_dims(ops.arange(length) + size - 1 < position, 0)
    match = ops.broadcast_to(match, (rows, length))
    for k in range(size - 1):
        last = ops.take(tokens, ops.maximum(position - size + 1 + k, 0), axis=1)
        match = ops.logical_and(match, tokens[:, k : length + k] == ops.expand_dims(last, 1))
    # The padding, which is forbidden already, stands for "no token".
    forbidden = ops.where(match, tokens[:, size - 1 :], PADDING_ID)
    row = ops.broadcast_to(ops.expand_dims(ops.arange(rows), 1), ops.shape(forbidden))
    indices = ops.reshape(ops.stack([forbidden, row], axis=-1), (-1, 2))
    impossible = ops.full((ops.shape(indices)[0],), -math.inf, dtype=logits.dtype)
    return ops.scatter_update(logits, indices, impossible)
