"""Constraints on the tokens that a search may choose."""

import math
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, UNKNOWN_ID
from keras_transformer.data.batches import next_power_of_4

# Constraints on one position. A positive value is the id of the token that is forced there.
ANY_TOKEN = PADDING_ID
NOT_END = -1  # any token except the end token
NO_TOKEN = -2  # beyond the maximum length


def make_constraints(min_length, max_length, length, forced=()):
    """Returns the constraints on each position of one sequence.

    Args:
        min_length: number of tokens before the end token, at least.
        max_length: number of tokens, including the end token, at most.
        length: L, the length of the result; at least `max_length`.
        forced: ids of the tokens that the sequence begins with.

    Returns:
        int32 (L,): `ANY_TOKEN`, `NOT_END`, `NO_TOKEN` or a forced id per position.
    """
    constraints = np.full(length, ANY_TOKEN, dtype="int32")
    constraints[:min_length] = NOT_END
    constraints[: len(forced)] = forced
    constraints[max_length:] = NO_TOKEN
    return constraints


def pad_banned(banned):
    """Pads the banned token sequences of each row.

    Args:
        banned: for each row a list of sequences of ids, none of them empty.

    Returns:
        int32 (R, M, m) with the padding before each sequence; M and m are powers of 4, so that
        compiled searches see few shapes. None if there is no sequence.
    """
    sequences = [ids for row in banned for ids in row]
    if not sequences:
        return None
    longest = max(map(len, banned)), max(map(len, sequences))
    shape = [next_power_of_4(n) for n in longest]
    padded = np.full((len(banned), *shape), PADDING_ID, "int32")
    for row, found in zip(padded, banned, strict=True):
        for place, ids in zip(row, found, strict=False):
            place[-len(ids) :] = ids
    return padded


class Rules(NamedTuple):
    """Rules for the sequences of a search.

    Shape letters: R rows, L maximum length, V vocabulary, M banned sequences of up to m tokens.

    Args:
        constraints: int32 (R, L), see `make_constraints`.
        with_forced: whether the constraints may force tokens; False saves the computation.
        no_repeat_ngram_size: size of the n-grams that may occur only once; 0 for no such rule.
        allow_unknown: whether the unknown token may be chosen.
        banned: int32 (R, M, m), token sequences that may not occur in a row, see `pad_banned`; None
            for no such rule.
    """

    constraints: Any
    with_forced: bool = True
    no_repeat_ngram_size: int = 0
    allow_unknown: bool = False
    banned: Any = None

    def repeat(self, n):
        """Returns the rules with each row repeated n times, the copies next to each other."""
        banned = None if self.banned is None else ops.repeat(self.banned, n, axis=0)
        return self._replace(constraints=ops.repeat(self.constraints, n, axis=0), banned=banned)

    def max_lengths(self):
        """Returns the maximum length of each row, including the end token, int32 (R,)."""
        return ops.sum(ops.cast(self.constraints != NO_TOKEN, "int32"), axis=1)

    def apply(self, logits, tokens, position, vocab_axis=1):
        """Sets the logits of forbidden tokens to -inf.

        Where the rules together forbid every token, the end token is allowed.

        Args:
            logits: float32 (R, V), or (V, R) if `vocab_axis` is 0.
            tokens: int32 (R, L), the tokens found so far, then padding.
            position: int32 scalar, the number of tokens found so far.
            vocab_axis: the axis of the vocabulary.

        Returns:
            The masked logits, in the shape of `logits`.
        """
        ids = ops.arange(logits.shape[vocab_axis], dtype="int32")
        ids = ops.expand_dims(ids, 1 - vocab_axis)
        current = ops.expand_dims(ops.take(self.constraints, position, axis=1), vocab_axis)
        # The special tokens have the first ids: updating this slice is cheaper than masking the
        # whole vocabulary.
        first = tuple(slice(END_ID + 1 if axis == vocab_axis else None) for axis in (0, 1))
        special = ids[first]
        allowed = ops.logical_and(special == END_ID, current != NOT_END)
        if self.allow_unknown:
            allowed = ops.logical_or(allowed, special == UNKNOWN_ID)
        masked = ops.where(allowed, logits[first], -math.inf)
        masked = ops.slice_update(logits, (0, 0), masked)
        forbidden = []
        if self.no_repeat_ngram_size:
            forbidden.append(_repeating_tokens(tokens, position, self.no_repeat_ngram_size))
        if self.banned is not None:
            forbidden.append(_completing_tokens(tokens, position, self.banned))
        if forbidden:
            row, token = (ops.concatenate(x) for x in zip(*forbidden, strict=True))
            indices = ops.stack([row, token] if vocab_axis == 1 else [token, row], axis=1)
            impossible = ops.full((ops.shape(row)[0],), -math.inf, dtype=logits.dtype)
            masked = ops.scatter_update(masked, indices, impossible)
            masked = _allow_end_if_nothing_else(masked, logits, vocab_axis)
        if self.with_forced:
            forced = ops.where(ids == current, logits, -math.inf)
            masked = ops.where(current > ANY_TOKEN, forced, masked)
        return masked


def _allow_end_if_nothing_else(masked, logits, vocab_axis):
    """Restores the logit of the end token in rows where every token is forbidden."""
    stuck = ops.max(masked, axis=vocab_axis, keepdims=True) == -math.inf
    end = ops.where(stuck, ops.take(logits, [END_ID], axis=vocab_axis), -math.inf)
    start = (0, END_ID) if vocab_axis == 1 else (END_ID, 0)
    masked_end = ops.take(masked, [END_ID], axis=vocab_axis)
    return ops.slice_update(masked, start, ops.maximum(masked_end, end))


def _repeating_tokens(tokens, position, size):
    """Finds the tokens that would complete an n-gram for the second time.

    Args:
        tokens: int32 (R, L).
        position: int32 scalar.
        size: n, the number of tokens of an n-gram.

    Returns:
        The rows and the ids of these tokens, two int32 vectors of length R * L. An entry that
        stands for no token has the padding id, which is forbidden anyway.
    """
    rows, length = ops.shape(tokens)
    tokens = ops.pad(tokens, ((0, 0), (0, size - 1)))  # an n-gram starts at every position
    # An n-gram matches if it has ended before `position` and its first n - 1 tokens are the last
    # n - 1 tokens of the row.
    match = ops.expand_dims(ops.arange(length) + size - 1 < position, 0)
    match = ops.broadcast_to(match, (rows, length))
    for k in range(size - 1):
        last = ops.take(tokens, ops.maximum(position - size + 1 + k, 0), axis=1)
        match = ops.logical_and(match, tokens[:, k : length + k] == ops.expand_dims(last, 1))
    return _flat_pairs(ops.where(match, tokens[:, size - 1 :], PADDING_ID))


def _completing_tokens(tokens, position, banned):
    """Finds the tokens that would complete a banned sequence.

    Args:
        tokens: int32 (R, L).
        position: int32 scalar.
        banned: int32 (R, M, m), see `pad_banned`.

    Returns:
        The rows and the ids of these tokens, two int32 vectors of length R * M; see
        `_repeating_tokens`.
    """
    before = ops.shape(banned)[2] - 1
    start = ops.full((ops.shape(tokens)[0], before), PADDING_ID, dtype="int32")
    tokens = ops.concatenate([start, tokens], axis=1)
    last = ops.take(tokens, position + ops.arange(before, dtype="int32"), axis=1)
    begun = banned[:, :, :before]
    match = ops.logical_or(begun == PADDING_ID, begun == ops.expand_dims(last, 1))
    return _flat_pairs(ops.where(ops.all(match, axis=2), banned[:, :, -1], PADDING_ID))


def _flat_pairs(ids):
    """Returns the rows and the entries of a matrix as two vectors."""
    row = ops.broadcast_to(ops.expand_dims(ops.arange(ops.shape(ids)[0]), 1), ops.shape(ids))
    return ops.reshape(row, (-1,)), ops.reshape(ids, (-1,))
