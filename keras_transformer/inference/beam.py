"""Beam search, independent of the model.

Shape letters: B sentences, K hypotheses per sentence, R = B * K rows, V vocabulary, L maximum
length.
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID
from keras_transformer.inference.search import SearchResult

_IMPOSSIBLE = -float("inf")


def beam_search(tokens_to_logits, state, rules, options):
    """Extends the K best hypotheses of each sentence until none can improve the result.

    A finished hypothesis keeps its slot in the beam and its score, so beam search with K = 1 is
    greedy search. The greedy hypothesis is never dropped: the result is at least as good as that of
    greedy search. The search ends when all hypotheses are finished, or when no unfinished one can
    still overtake the n best finished ones, since its log probability can only decrease.

    Args:
        tokens_to_logits: see `greedy_search`.
        state: see `greedy_search`; the K rows of a sentence are adjacent.
        rules: the `Rules` of the sentences, B rows.
        options: the `SearchOptions`: beam size K, n best and length penalty.

    Returns:
        A `SearchResult`, the best hypotheses first. A score of -inf marks a missing hypothesis:
        fewer than n exist.

    References:
        "Sequence to Sequence Learning with Neural Networks" (Sutskever et al., 2014), section 3.2;
        "Google's Neural Machine Translation System" (Wu et al., 2016), equation 14.
    """
    size, alpha = options.beam_size, options.length_penalty
    (batch, length), max_lengths = ops.shape(rules.constraints), rules.max_lengths()
    row_rules, max_penalty = rules.repeat(size), _penalty(max_lengths, alpha)

    def condition(position, last, beam, state):
        # Upper bound of an unfinished hypothesis' score: its present sum at the maximum length.
        bounds = ops.where(beam.ended, _IMPOSSIBLE, beam.sums) / ops.expand_dims(max_penalty, 1)
        to_beat = ops.min(ops.top_k(beam.scores, options.n_best)[0], axis=1)
        can_improve = ops.any(ops.max(bounds, axis=1) > to_beat)
        return ops.logical_and(position < length, can_improve)

    def body(position, last, beam, state):
        logits, state = tokens_to_logits(last, position, state)
        logits = ops.cast(logits, "float32")
        allowed = row_rules.apply(logits, _flat(beam.tokens), position)
        values, ids = ops.top_k(allowed, min(size, logits.shape[-1]))
        values = values - ops.logsumexp(logits, axis=1, keepdims=True)
        parents, last, sums, greedy = _select(beam, values, ops.cast(ids, "int32"))
        beam, rows = _extend(beam, position, parents, last, sums, greedy, max_lengths, alpha)
        state = keras.tree.map_structure(lambda x: ops.take(x, _flat(rows), axis=0), state)
        return position + 1, _flat(last), beam, state

    start = ops.full((batch * size,), START_ID, dtype="int32")
    position = ops.convert_to_tensor(0, dtype="int32")
    initial = (position, start, _initial_beam(batch, size, length), state)
    _, _, beam, _ = ops.while_loop(condition, body, initial)
    scores, order = ops.top_k(beam.scores, options.n_best)
    return SearchResult(_gather(beam.tokens, order), scores)


class _Beam(NamedTuple):
    """The hypotheses of each sentence. An empty slot has a sum of -inf and counts as ended."""

    tokens: Any  # int32 (B, K, L)
    sums: Any  # float32 (B, K), sums of log probabilities
    scores: Any  # float32 (B, K), -inf until the hypothesis has ended
    ended: Any  # bool (B, K)
    greedy: Any  # bool (B, K), whether it is the unfinished hypothesis of greedy search


def _initial_beam(batch, size, length):
    """Returns a beam with one empty hypothesis and K - 1 empty slots per sentence."""
    first = ops.broadcast_to(ops.expand_dims(ops.arange(size) == 0, 0), (batch, size))
    tokens = ops.full((batch, size, length), PADDING_ID, dtype="int32")
    impossible = ops.full((batch, size), _IMPOSSIBLE, dtype="float32")
    sums = ops.where(first, 0.0, impossible)
    return _Beam(tokens, sums, impossible, ops.logical_not(first), first)


def _select(beam, values, ids):
    """Selects the K best extensions by one token; hypotheses that have ended compete unchanged.

    Args:
        beam: `_Beam`.
        values: float32 (R, k), log probabilities of the best tokens of each row.
        ids: int32 (R, k), these tokens, the best first.

    Returns:
        Four tensors (B, K): the slot of the hypothesis to extend, the token, the new sum, and
        whether the extension is the greedy hypothesis.
    """
    batch, size = ops.shape(beam.sums)
    width = ids.shape[-1]
    is_best = ops.arange(width) == 0
    ended, sums = ops.expand_dims(beam.ended, 2), ops.expand_dims(beam.sums, 2)
    frozen = ops.where(is_best, sums, _IMPOSSIBLE)
    sums = ops.where(ended, frozen, sums + ops.reshape(values, (batch, size, width)))
    ids = ops.where(ended, PADDING_ID, ops.reshape(ids, (batch, size, width)))
    greedy = ops.logical_and(ops.expand_dims(beam.greedy, 2), is_best)
    # Ended hypotheses and the greedy one are kept regardless of their sum.
    kept = ops.logical_or(ops.logical_and(ended, frozen > _IMPOSSIBLE), greedy)
    sums, ids, greedy, ranks = (
        ops.reshape(x, (batch, size * width))
        for x in (sums, ids, greedy, ops.where(kept, float("inf"), sums))
    )
    _, chosen = ops.top_k(ranks, size)
    return chosen // width, _gather(ids, chosen), _gather(sums, chosen), _gather(greedy, chosen)


def _extend(beam, position, parents, last, sums, greedy, max_lengths, alpha):
    """Returns the next beam and the rows that it extends, (B, K), from the result of `_select`."""
    batch, size = ops.shape(beam.sums)
    rows = ops.expand_dims(ops.arange(batch), 1) * size + parents
    full = ops.expand_dims(position + 1 >= max_lengths, 1)
    ends = ops.logical_or(last == END_ID, full)
    scores = ops.where(ends, sums / _penalty(position + 1, alpha), _IMPOSSIBLE)
    # Where candidates run out, a slot holds the copy of an ended hypothesis with a sum of -inf.
    # It must not keep the score.
    was_ended = ops.logical_and(_gather(beam.ended, parents), sums > _IMPOSSIBLE)
    tokens = _gather(beam.tokens, parents)
    extended = _Beam(
        ops.slice_update(tokens, (0, 0, position), ops.expand_dims(last, 2)),
        sums,
        ops.where(was_ended, _gather(beam.scores, parents), scores),
        ops.logical_or(was_ended, ends),
        ops.logical_and(greedy, ops.logical_not(ends)),
    )
    return extended, rows


def _penalty(length, alpha):
    """Computes the length penalty, equation 14 of Wu et al."""
    return ((5 + ops.cast(length, "float32")) / 6) ** alpha


def _gather(x, slots):
    """Gathers slots of each sentence: (B, K, …) and int (B, n) -> (B, n, …)."""
    batch, size = ops.shape(x)[:2]
    rows = ops.expand_dims(ops.arange(batch), 1) * size + ops.cast(slots, "int32")
    return ops.take(_flat(x), rows, axis=0)


def _flat(x):
    """Merges the first two axes: (B, K, …) -> (R, …)."""
    return ops.reshape(x, (-1, *ops.shape(x)[2:]))
