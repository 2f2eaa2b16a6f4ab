"""Beam search. Knows no model.

Shape letters: B sentences, K rows for each of them, R = B * K rows, V words, L the greatest number
of tokens.
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID
from keras_transformer.inference.search import Found

_IMPOSSIBLE = -float("inf")


def beam_search(tokens_to_logits, state, rules, options):
    """Keeps the K best beginnings of each sentence until no better translation can be found.

    A hypothesis that has ended keeps its place in the beam and its score; so the beam of size 1 is
    the greedy search. The greedy hypothesis is never dropped, so that no beam returns a worse one.
    The search ends when every place is taken, or when no hypothesis that is still open can overtake
    the n best ended ones: its log probability can only fall.

    Args:
        tokens_to_logits: see `greedy_search`.
        state: see `greedy_search`; the rows of a sentence stand next to each other.
        rules: the `Rules` of the sentences, B rows.
        options: `SearchOptions` with beam size K, n best and length penalty.

    Returns:
        `Found`, the best first. A score of -inf marks a sequence that does not exist.

    References:
        "Sequence to Sequence Learning with Neural Networks" (Sutskever et al., 2014), section 3.2;
        "Google's Neural Machine Translation System" (Wu et al., 2016), equation 14.
    """
    size, alpha = options.beam_size, options.length_penalty
    (batch, length), longest = ops.shape(rules.plan), rules.longest()
    row_rules, best_penalty = rules.repeat(size), _penalty(longest, alpha)

    def going_on(position, last, beam, state):
        # The best score that an open hypothesis can get is that of its sum at the greatest length.
        hopes = ops.where(beam.ended, _IMPOSSIBLE, beam.sums) / ops.expand_dims(best_penalty, 1)
        to_beat = ops.min(ops.top_k(beam.scores, options.n_best)[0], axis=1)
        hope = ops.any(ops.max(hopes, axis=1) > to_beat)
        return ops.logical_and(position < length, hope)

    def go_on(position, last, beam, state):
        logits, state = tokens_to_logits(last, position, state)
        logits = ops.cast(logits, "float32")
        allowed = row_rules.apply(logits, _flat(beam.tokens), position)
        values, ids = ops.top_k(allowed, min(size, logits.shape[-1]))
        values = values - ops.logsumexp(logits, axis=1, keepdims=True)
        places, last, sums, greedy = _choose(beam, values, ops.cast(ids, "int32"))
        beam, rows = _extend(beam, position, places, last, sums, greedy, longest, alpha)
        state = keras.tree.map_structure(lambda x: ops.take(x, _flat(rows), axis=0), state)
        return position + 1, _flat(last), beam, state

    start = ops.full((batch * size,), START_ID, dtype="int32")
    position = ops.convert_to_tensor(0, dtype="int32")
    first = (position, start, _first_beam(batch, size, length), state)
    _, _, beam, _ = ops.while_loop(going_on, go_on, first)
    scores, order = ops.top_k(beam.scores, options.n_best)
    return Found(_pick(beam.tokens, order), scores)


class _Beam(NamedTuple):
    """The hypotheses of each sentence. A place without one has a sum of -inf."""

    tokens: Any  # int32 (B, K, L)
    sums: Any  # float32 (B, K), log probabilities
    scores: Any  # float32 (B, K), -inf until the hypothesis has ended
    ended: Any  # bool (B, K)
    greedy: Any  # bool (B, K), whether it is the beginning that the greedy search finds


def _first_beam(batch, size, length):
    """One hypothesis, which holds nothing but the start, and places for others."""
    first = ops.broadcast_to(ops.expand_dims(ops.arange(size) == 0, 0), (batch, size))
    nothing = ops.full((batch, size, length), PADDING_ID, dtype="int32")
    impossible = ops.full((batch, size), _IMPOSSIBLE, dtype="float32")
    sums = ops.where(first, 0.0, impossible)
    return _Beam(nothing, sums, impossible, ops.logical_not(first), first)


def _choose(beam, values, ids):
    """The K best of the hypotheses extended by a token; those that have ended stay as they are.

    Args:
        beam: `_Beam`.
        values: float32 (R, k), log probabilities of the best tokens of each row.
        ids: int32 (R, k), these tokens, the best first.

    Returns:
        (B, K) each: the place of the hypothesis to extend, the token, the sum, and whether it goes
        on with the greedy search.
    """
    batch, size = ops.shape(beam.sums)
    width = ids.shape[-1]
    is_best = ops.arange(width) == 0
    ended, sums = ops.expand_dims(beam.ended, 2), ops.expand_dims(beam.sums, 2)
    frozen = ops.where(is_best, sums, _IMPOSSIBLE)
    sums = ops.where(ended, frozen, sums + ops.reshape(values, (batch, size, width)))
    ids = ops.where(ended, PADDING_ID, ops.reshape(ids, (batch, size, width)))
    greedy = ops.logical_and(ops.expand_dims(beam.greedy, 2), is_best)
    stays = ops.logical_or(ops.logical_and(ended, frozen > _IMPOSSIBLE), greedy)
    sums, ids, greedy, ranks = (
        ops.reshape(x, (batch, size * width))
        for x in (sums, ids, greedy, ops.where(stays, float("inf"), sums))
    )
    _, chosen = ops.top_k(ranks, size)
    return chosen // width, _pick(ids, chosen), _pick(sums, chosen), _pick(greedy, chosen)


def _extend(beam, position, places, last, sums, greedy, longest, alpha):
    """The next beam, from what `_choose` has returned, and the rows that it extends, (B, K)."""
    batch, size = ops.shape(beam.sums)
    rows = ops.expand_dims(ops.arange(batch), 1) * size + places
    full = ops.expand_dims(position + 1 >= longest, 1)
    ends = ops.logical_or(last == END_ID, full)
    scores = ops.where(ends, sums / _penalty(position + 1, alpha), _IMPOSSIBLE)
    # A place for which nothing is left holds the copy of an ended one, which must not count.
    was_ended = ops.logical_and(_pick(beam.ended, places), sums > _IMPOSSIBLE)
    tokens = _pick(beam.tokens, places)
    extended = _Beam(
        ops.slice_update(tokens, (0, 0, position), ops.expand_dims(last, 2)),
        sums,
        ops.where(was_ended, _pick(beam.scores, places), scores),
        ops.logical_or(was_ended, ends),
        ops.logical_and(greedy, ops.logical_not(ends)),
    )
    return extended, rows


def _penalty(length, alpha):
    return ((5 + ops.cast(length, "float32")) / 6) ** alpha


def _pick(x, places):
    """(B, K, …) and int (B, n) -> (B, n, …)."""
    batch, size = ops.shape(x)[:2]
    places = ops.expand_dims(ops.arange(batch), 1) * size + ops.cast(places, "int32")
    return ops.take(_flat(x), places, axis=0)


def _flat(x):
    """(B, K, …) -> (R, …)."""
    return ops.reshape(x, (-1, *ops.shape(x)[2:]))
