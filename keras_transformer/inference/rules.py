"""Which tokens a search may choose."""

import math
from typing import Any, NamedTuple

from keras import ops

from keras_transformer.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID


class Rules(NamedTuple):
    """What is asked of each row.

    Args:
        shortest: int32 (R,), number of tokens before which a row must not end.
        longest: int32 (R,), number of tokens, the end included, after which it ends in any case.
        forced: int32 (R, L), the tokens that are given, at the positions where they are not
            padding; None if there are none.
        no_repeat_ngram_size: number of tokens of which no sequence may occur twice; 0: any may.
        allow_unknown: whether the unknown word may be chosen.
    """

    shortest: Any
    longest: Any
    forced: Any = None
    no_repeat_ngram_size: int = 0
    allow_unknown: bool = False

    def repeat(self, rows):
        """The same for `rows` rows next to each other instead of each row."""
        shortest, longest = (ops.repeat(x, rows, axis=0) for x in (self.shortest, self.longest))
        forced = None if self.forced is None else ops.repeat(self.forced, rows, axis=0)
        return self._replace(shortest=shortest, longest=longest, forced=forced)

    def apply(self, logits, tokens, position):
        """Makes the forbidden tokens impossible.

        Args:
            logits: float32 (R, V).
            tokens: int32 (R, L), those found so far, then padding.
            position: int32 scalar, their number.

        Returns:
            The logits with -inf for each token that may not be chosen.
        """
        ids = ops.arange(logits.shape[-1], dtype="int32")
        allowed = self._static(ids)
        too_short = ops.expand_dims(position < self.shortest, 1)
        allowed = ops.logical_and(allowed, ~ops.logical_and(too_short, ids == END_ID))
        free = ops.where(allowed, logits, -math.inf)
        if self.no_repeat_ngram_size:
            free = _without_repetitions(free, tokens, position, self.no_repeat_ngram_size)
        if self.forced is None:
            return free
        here = ops.expand_dims(ops.take(self.forced, position, axis=1), 1)
        return ops.where(here == PADDING_ID, free, ops.where(ids == here, logits, -math.inf))

    def _static(self, ids):
        # Not the unknown word either, unless it is asked for: the next best word says more.
        never = (PADDING_ID, START_ID) if self.allow_unknown else (PADDING_ID, START_ID, UNKNOWN_ID)
        return ops.all(ops.expand_dims(ids, -1) != ops.convert_to_tensor(never), axis=-1)


def _without_repetitions(logits, tokens, position, size):
    """Forbids each token that would end a sequence of `size` tokens for the second time."""
    rows, length = ops.shape(tokens)
    starts = ops.arange(length - size + 1)
    # A start is a match if the tokens from there are the last ones, and one follows them.
    match = ops.logical_and(position >= size - 1, starts + size - 1 < position)
    match = ops.broadcast_to(ops.expand_dims(match, 0), (rows, length - size + 1))
    for k in range(size - 1):
        last = ops.take(tokens, ops.maximum(position - size + 1 + k, 0), axis=1)
        then = tokens[:, k : length - size + 1 + k]
        match = ops.logical_and(match, then == ops.expand_dims(last, 1))
    # The padding, which is forbidden already, stands for "no token".
    forbidden = ops.where(match, tokens[:, size - 1 :], PADDING_ID)
    row = ops.broadcast_to(ops.expand_dims(ops.arange(rows), 1), ops.shape(forbidden))
    indices = ops.reshape(ops.stack([row, forbidden], axis=-1), (-1, 2))
    impossible = ops.full((ops.shape(indices)[0],), -math.inf, dtype=logits.dtype)
    return ops.scatter_update(logits, indices, impossible)
