"""Searching for the best translation, or drawing one. Knows no model.

Shape letters: B sentences, K rows for each sentence, R = B * K rows, V words, L the greatest number
of tokens.
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer.special_tokens import END_ID, PADDING_ID, START_ID


class Found(NamedTuple):
    """What a search returns: n token sequences for each sentence.

    Args:
        tokens: int32 (B, n, L), without the start, with the end if it was reached, then padding.
        scores: float32 (B, n), the log probabilities, in a beam divided by the length penalty.
        rows: int32 (B, n, L), the row that computed the logits of each token: where to look for it
            in the log.
        log: what the function from tokens to logits has noted.
    """

    tokens: Any
    scores: Any
    rows: Any
    log: Any


def greedy_search(tokens_to_logits, state, rules, length, log=(), with_scores=False):
    """Takes the most probable token at each position until every sequence has ended.

    Args:
        tokens_to_logits: function of the last tokens, int32 (R,), their position, an int32 scalar,
            the state and the log; it returns the logits of the next tokens, (R, V), the next state
            and the next log. At position 0 the tokens are the start.
        state: what that function needs to know of each sequence: tensors, nested in tuples or
            dictionaries, whose first axis is R and whose shapes stay the same.
        rules: the `Rules` of the rows.
        length: L.
        log: what that function wants to keep of each position: tensors likewise. Other than the
            state it stays in the order of the rows that computed it.
        with_scores: whether to compute the scores, which costs time.

    Returns:
        `Found` with n = 1, K = 1; scores of 0 unless asked for.
    """
    return _one_by_one(tokens_to_logits, state, rules, length, log, with_scores, _argmax)


def sample(tokens_to_logits, state, rules, log, randoms, options):
    """Draws tokens with their probability.

    Args:
        tokens_to_logits: see `greedy_search`.
        state: see `greedy_search`.
        rules: see `greedy_search`.
        log: see `greedy_search`.
        randoms: float32 (R, L), uniform in [0, 1): what each token is drawn with.
        options: `SearchOptions` with temperature, top k and top p.

    Returns:
        `Found` with n = 1, K = 1, with scores: the log probabilities without the temperature.
    """

    def draw(logits, position):
        return _draw(logits, ops.take(randoms, position, axis=1), options)

    length = ops.shape(randoms)[1]
    return _one_by_one(tokens_to_logits, state, rules, length, log, True, draw)


def _one_by_one(tokens_to_logits, state, rules, length, log, with_scores, choose):
    def going_on(position, last, ended, *others):
        return ops.logical_and(position < length, ops.logical_not(ops.all(ended)))

    def go_on(position, last, ended, tokens, scores, state, log):
        logits, state, log = tokens_to_logits(last, position, state, log)
        logits = ops.cast(logits, "float32")
        last = choose(rules.apply(logits, tokens, position), position)
        if with_scores:
            scores = scores + ops.where(ended, 0.0, _log_probability(logits, last))
        last = ops.where(ended, PADDING_ID, last)
        tokens = ops.slice_update(tokens, (0, position), ops.expand_dims(last, 1))
        full = position + 1 >= rules.longest
        ended = ops.logical_or(ended, ops.logical_or(last == END_ID, full))
        return position + 1, last, ended, tokens, scores, state, log

    rows = ops.shape(rules.longest)[0]
    first = (
        ops.convert_to_tensor(0, dtype="int32"),
        ops.full((rows,), START_ID, dtype="int32"),
        rules.longest < 1,
        ops.full((rows, length), PADDING_ID, dtype="int32"),
        ops.zeros((rows,), dtype="float32"),
        state,
        log,
    )
    *_, tokens, scores, _, log = ops.while_loop(going_on, go_on, first)
    row = ops.broadcast_to(ops.reshape(ops.arange(rows), (-1, 1, 1)), (rows, 1, length))
    return Found(ops.expand_dims(tokens, 1), ops.expand_dims(scores, 1), row, log)


def beam_search(tokens_to_logits, state, rules, length, log, options):
    """Keeps the K best beginnings of each sentence until no better translation can be found.

    A hypothesis that has ended keeps its place in the beam and its score; so the beam of size 1 is
    the greedy search. The greedy hypothesis is never dropped, so that no beam returns a worse one.
    The search ends when every place is taken, or when no hypothesis that is still open can overtake
    the n best ended ones: its log probability can only fall.

    Args:
        tokens_to_logits: see `greedy_search`.
        state: see `greedy_search`; the rows of a sentence stand next to each other.
        rules: the `Rules` of the sentences, B rows.
        length: see `greedy_search`.
        log: see `greedy_search`.
        options: `SearchOptions` with beam size K, n best and length penalty.

    Returns:
        `Found`, the best first. A score of -inf marks a sequence that does not exist.

    References:
        "Sequence to Sequence Learning with Neural Networks" (Sutskever et al., 2014), section 3.2;
        "Google's Neural Machine Translation System" (Wu et al., 2016), equation 14.
    """
    size, row_rules = options.beam_size, rules.repeat(options.beam_size)
    best_penalty = _penalty(rules.longest, options.length_penalty)

    def going_on(position, last, beam, state, log):
        # No open hypothesis can get a better score than its present one at the greatest length.
        hopes = ops.where(beam.ended, -float("inf"), beam.sums) / ops.expand_dims(best_penalty, 1)
        worst = ops.min(ops.top_k(beam.scores, options.n_best)[0], axis=1)
        hope = ops.any(ops.max(hopes, axis=1) > worst)
        return ops.logical_and(position < length, hope)

    def go_on(position, last, beam, state, log):
        logits, state, log = tokens_to_logits(last, position, state, log)
        logits = ops.cast(logits, "float32")
        allowed = row_rules.apply(logits, _flat(beam.tokens), position)
        values, ids = ops.top_k(allowed, min(size, logits.shape[-1]))
        values = values - ops.logsumexp(logits, axis=-1, keepdims=True)
        beam, parents, last = beam.extend(values, ops.cast(ids, "int32"), position, rules, options)
        rows = _flat(parents)
        state = keras.tree.map_structure(lambda x: ops.take(x, rows, axis=0), state)
        return position + 1, _flat(last), beam, state, log

    beam = _Beam.first(ops.shape(rules.longest)[0], size, length)
    start = ops.full((ops.shape(rules.longest)[0] * size,), START_ID, dtype="int32")
    first = (ops.convert_to_tensor(0, dtype="int32"), start, beam, state, log)
    *_, beam, _, log = ops.while_loop(going_on, go_on, first)
    scores, order = ops.top_k(beam.scores, options.n_best)
    return Found(_of_beam(beam.tokens, order), scores, _of_beam(beam.rows, order), log)


class _Beam(NamedTuple):
    """The hypotheses of each sentence; an open one has no score yet, only its sum."""

    tokens: Any  # int32 (B, K, L)
    rows: Any  # int32 (B, K, L), see `Found`
    sums: Any  # float32 (B, K), log probabilities
    scores: Any  # float32 (B, K), -inf while open
    ended: Any  # bool (B, K)
    greedy: Any  # bool (B, K), whether it is the greedy search's

    @classmethod
    def first(cls, batch, size, length):
        """One hypothesis that holds the start, and places for others."""
        first = ops.broadcast_to(ops.arange(size) == 0, (batch, size))
        nothing = ops.full((batch, size, length), PADDING_ID, dtype="int32")
        impossible = ops.full((batch, size), -float("inf"), dtype="float32")
        sums = ops.where(first, 0.0, impossible)
        return cls(nothing, nothing, sums, impossible, ops.logical_not(first), first)

    def extend(self, values, ids, position, rules, options):
        """The K best of all hypotheses extended by one token each, and of those that have ended.

        Args:
            values: float32 (R, k), log probabilities of the best tokens of each row.
            ids: int32 (R, k), these tokens, the best first.
            position: int32 scalar.
            rules: the `Rules` of the sentences.
            options: `SearchOptions`.

        Returns:
            The next beam, the row that each hypothesis extends and its last token, (B, K) both.
        """
        batch, size = ops.shape(self.sums)
        width = ids.shape[-1]
        is_first = ops.arange(width) == 0
        ended, sums = ops.expand_dims(self.ended, 2), ops.expand_dims(self.sums, 2)
        values = sums + ops.reshape(values, (batch, size, width))
        # What has ended goes on as it is, once.
        frozen = ops.where(is_first, sums, -float("inf"))
        values = ops.where(ended, frozen, values)
        ids = ops.where(ended, PADDING_ID, ops.reshape(ids, (batch, size, width)))
        greedy = ops.logical_and(ops.expand_dims(self.greedy, 2), is_first)
        stays = ops.logical_or(ops.logical_and(ended, frozen > -float("inf")), greedy)
        ranks = ops.where(stays, float("inf"), values)
        _, chosen = ops.top_k(ops.reshape(ranks, (batch, size * width)), options.beam_size)
        parents = chosen // width
        sums, last, greedy = (_of_candidates(x, chosen) for x in (values, ids, greedy))
        was_ended, scores = (_of_beam(x, parents) for x in (self.ended, self.scores))
        full = ops.expand_dims(position + 1 >= rules.longest, 1)
        ends = ops.logical_or(last == END_ID, full)
        penalty = _penalty(ops.cast(position + 1, "float32"), options.length_penalty)
        new_scores = ops.where(ends, sums / penalty, -float("inf"))
        rows = ops.expand_dims(ops.arange(batch), 1) * size + parents
        at = (0, 0, position)
        return (
            _Beam(
                ops.slice_update(_of_beam(self.tokens, parents), at, ops.expand_dims(last, 2)),
                ops.slice_update(_of_beam(self.rows, parents), at, ops.expand_dims(rows, 2)),
                sums,
                ops.where(was_ended, scores, new_scores),
                ops.logical_or(was_ended, ends),
                ops.logical_and(greedy, ops.logical_not(ends)),
            ),
            rows,
            last,
        )
