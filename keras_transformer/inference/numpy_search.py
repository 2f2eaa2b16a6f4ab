"""Greedy search, sampling and beam search with NumPy.

The same searches as in `search.py` and `beam.py`, with the same results. There, a graph computes a
batch of fixed size until its last sequence has ended; here, sentences leave the batch when they
end.

Shape letters: B sentences, K sequences per sentence, R = B * K rows, V vocabulary, L maximum
length.
"""

import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import ThreadpoolController

from keras_transformer._utils.cores import count_cores
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID
from keras_transformer.inference.rules import ANY_TOKEN, NO_TOKEN, NOT_END

_IMPOSSIBLE = np.float32(-np.inf)
# Sentences that have ended are removed once they are this share of the batch: removing copies the
# cache.
_ENDED_SHARE = 1 / 8
_all_cores = threading.Lock()  # held by the call that searches on all cores


class NumpySearch:
    """A search from source ids to target ids; the counterpart of a compiled `ModelSearch`.

    Args:
        model: a model with the methods `start` and `step` of `NumpyTransformer`.
        options: the `SearchOptions`.
        with_scores: whether to compute the scores of greedy search, which takes time.
    """

    def __init__(self, model, options, with_scores=False):
        self.model = model
        self.options = options
        self.with_scores = with_scores

    def __call__(self, request):
        """Runs the search; see `ModelSearch.call`.

        Args:
            request: the dictionary of arrays that `ModelSearch` takes.

        Returns:
            A dictionary of arrays: "tokens" (B, n, L), and "scores" (B, n), unless it is a greedy
            search without scores.
        """
        options, rules = self.options, _Rules(request, self.options)
        if options.beam_size > 1:
            state = self.model.start(request["source"])
            return _beam_search(self.model.step, state, rules, options)
        if options.samples:
            return self._sample(request, rules)
        state = self.model.start(request["source"])
        tokens, scores = _extend_rows(self.model.step, state, rules, _best, self.with_scores)
        result = {"tokens": tokens[:, None]}
        return {**result, "scores": scores[:, None]} if self.with_scores else result

    def _sample(self, request, rules):
        """Samples n sequences per sentence and sorts them, the best first."""
        options, random_numbers = self.options, request["random_numbers"]

        def choose(logits, position, rows):
            return _sample_tokens(logits, random_numbers[rows, position], options)

        n = options.n_best
        # Each sample is a sentence of its own, because samples leave the batch one by one.
        state = self.model.start(request["source"].repeat(n, axis=0))
        arguments = (self.model.step, state, rules.repeat(n), choose)
        tokens, scores = _extend_rows(*arguments, with_scores=True)
        scores = scores.reshape(-1, n)
        tokens = tokens.reshape(len(scores), n, -1)
        tokens, scores = _gather(_order(scores), tokens, scores)
        return {"tokens": tokens, "scores": scores}


def search_in_threads(search, batches):
    """Searches several batches at a time, one on each core.

    As in other numerical libraries, the environment variable `OMP_NUM_THREADS` limits the number of
    threads. NumPy's own threads, which split one matrix product, are switched off meanwhile: they
    take twice the CPU time for the same wall time. They are switched for the whole process, so only
    one call at a time does it. Calls from other threads meanwhile search one batch after the other,
    and thus use one core each.

    Args:
        search: function from a batch to its result.
        batches: list of batches.

    Yields:
        The results, in order.
    """
    threads = min(len(batches), _count_threads())
    if threads <= 1 or not _all_cores.acquire(blocking=False):
        yield from map(search, batches)
        return
    try:
        with _thread_pools().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
            yield from pool.map(search, batches)
    finally:
        _all_cores.release()


def _count_threads():
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return min(count_cores(), int(allowed)) if allowed.isdecimal() else count_cores()


@functools.cache
def _thread_pools():
    return ThreadpoolController()


class _Rules:
    """Rules for the sequences of a search, with the same effect as `rules.Rules`.

    Args:
        request: see `NumpySearch`; its "constraints", int32 (R, L), and "banned", int32 (R, M, m),
            are used.
        options: the `SearchOptions`.
    """

    def __init__(self, request, options):
        self.constraints = constraints = request["constraints"]
        self.banned = request.get("banned")
        self.options = options
        self.max_lengths = np.count_nonzero(constraints != NO_TOKEN, axis=1)
        self._constrain_tokens = (
            options.no_repeat_ngram_size
            or self.banned is not None
            or ((constraints > ANY_TOKEN) | (constraints == NOT_END)).any()
        )
        self._forbidden = (PADDING_ID, START_ID, UNKNOWN_ID)[: 2 if options.allow_unknown else 3]

    def repeat(self, n):
        """Returns the rules with each row repeated n times, the copies next to each other."""
        request = {"constraints": self.constraints, "banned": self.banned}
        repeated = {name: x.repeat(n, axis=0) for name, x in request.items() if x is not None}
        return _Rules(repeated, self.options)

    def apply(self, logits, tokens, position, rows):
        """Sets the logits of forbidden tokens to -inf, in place; see `rules.Rules.apply`.

        Args:
            logits: float32 (R, V), of the rows that are left.
            tokens: int32 (R, L), of these rows.
            position: number of tokens found so far.
            rows: indices of the rows that are left.
        """
        current = self.constraints[rows, position] if self._constrain_tokens else None
        if self._constrain_tokens:
            forced = np.flatnonzero(current > ANY_TOKEN)
            forced_logits = logits[forced, current[forced]]
            ends = logits[:, END_ID].copy()
            logits[current == NOT_END, END_ID] = _IMPOSSIBLE
        for i in self._forbidden:
            logits[:, i] = _IMPOSSIBLE
        size = self.options.no_repeat_ngram_size
        if size:
            logits[_repeating_tokens(tokens[:, :position], size)] = _IMPOSSIBLE
        if self.banned is not None:
            banned = self.banned[rows]
            logits[_completing_tokens(tokens[:, :position], banned)] = _IMPOSSIBLE
        if size or self.banned is not None:
            stuck = logits.max(axis=1) == _IMPOSSIBLE
            logits[stuck, END_ID] = ends[stuck]
        if self._constrain_tokens:
            logits[forced] = _IMPOSSIBLE
            logits[forced, current[forced]] = forced_logits


def _repeating_tokens(tokens, size):
    """Finds the tokens that would complete an n-gram for the second time.

    Args:
        tokens: int32 (R, T), the tokens found so far.
        size: n, the number of tokens of an n-gram.

    Returns:
        The rows and the ids of these tokens, two vectors of integers.
    """
    length = tokens.shape[1]
    if length < size:
        return np.zeros((2, 0), int)
    ngrams = np.lib.stride_tricks.sliding_window_view(tokens, size, axis=1)
    beginning = tokens[:, None, length - size + 1 :]
    rows, places = np.nonzero((ngrams[..., :-1] == beginning).all(axis=2))
    return rows, ngrams[rows, places, -1]


def _completing_tokens(tokens, banned):
    """Finds the tokens that would complete a banned sequence.

    Args:
        tokens: int32 (R, T), the tokens found so far.
        banned: int32 (R, M, m), see `pad_banned`.

    Returns:
        The rows and the ids of these tokens, two vectors of integers.
    """
    before = banned.shape[2] - 1
    last = np.pad(tokens, ((0, 0), (before, 0)))[:, tokens.shape[1] :]
    begun = banned[:, :, :before]
    match = ((begun == PADDING_ID) | (begun == last[:, None])).all(axis=2)
    rows, places = np.nonzero(match & (banned[:, :, -1] != PADDING_ID))
    return rows, banned[rows, places, -1]


def _extend_rows(step, state, rules, choose, with_scores):
    """Extends every sequence token by token until all have ended.

    Args:
        step: function from the last tokens, (R,), the position and the state to logits, (R, V).
        state: the `DecodingState`.
        rules: the `_Rules` of the rows.
        choose: function from the logits of the rows that are left, the position and the indices of
            these rows to their next tokens.
        with_scores: whether to compute the scores.

    Returns:
        Tokens, int32 (R, L), and scores, float32 (R,).
    """
    rows = np.arange(len(rules.constraints))  # those that have not left the batch
    tokens = np.full(rules.constraints.shape, PADDING_ID, dtype="int32")  # of these rows
    found, scores = tokens.copy(), np.zeros(len(rows), "float32")
    last, ended = np.full(len(rows), START_ID), np.zeros(len(rows), bool)
    for position in range(tokens.shape[1]):
        logits = step(last, position, state)
        sums = _log_sum_exp(logits) if with_scores else None
        rules.apply(logits, tokens, position, rows)
        last = choose(logits, position, rows)
        if with_scores:
            log_probabilities = logits[np.arange(len(rows)), last] - sums
            scores[rows] += np.where(ended, np.float32(0), log_probabilities)
        last[ended] = PADDING_ID
        tokens[:, position] = last
        ended |= (last == END_ID) | (position + 1 >= rules.max_lengths[rows])
        number = np.count_nonzero(ended)
        if number == len(rows):
            break
        if number > _ENDED_SHARE * len(rows):
            found[rows] = tokens
            left = np.flatnonzero(~ended)
            state.select(left, sentences=left)
            rows, tokens, last, ended = rows[left], tokens[left], last[left], ended[left]
    found[rows] = tokens
    return found, scores


def _best(logits, position, rows):
    return logits.argmax(axis=1)


def _sample_tokens(logits, random, options):
    """Samples a token for each row by inverting the cumulative distribution.

    Args:
        logits: float32 (R, V).
        random: float32 (R,), uniform in [0, 1).
        options: `SearchOptions`.

    Returns:
        Integers (R,), the first token whose cumulative probability exceeds `random`.
    """
    ids, values = _sorted_logits(logits, options.top_k)
    values /= np.float32(options.temperature)
    probabilities = np.exp(values - _log_sum_exp(values)[:, None])
    before = np.cumsum(probabilities, axis=1) - probabilities
    kept = np.where(before < options.top_p, probabilities, np.float32(0))
    sums = np.cumsum(kept, axis=1)
    index = np.count_nonzero(sums <= random[:, None] * sums[:, -1:], axis=1)
    index = np.minimum(index, np.count_nonzero(kept, axis=1) - 1)  # rounding
    return ids[np.arange(len(ids)), index]


def _sorted_logits(logits, k):
    """Returns the ids and the logits of the k best tokens of each row, all if k is 0, sorted."""
    if 0 < k < logits.shape[1]:
        ids = np.argpartition(logits, -k, axis=1)[:, -k:]
        (values,) = _gather(ids, logits)
        return _gather(_order(values), ids, values)
    ids = np.argsort(-logits, axis=1)  # a stable sort takes twice as long
    return ids, *_gather(ids, logits)


def _beam_search(step, state, rules, options):
    """Extends the K best hypotheses of each sentence; see `beam.beam_search`.

    Args:
        step: function from the last tokens, (R,), the position and the state to logits, (R, V).
        state: the `DecodingState` of one row per sentence. Later, the K rows of a sentence are
            adjacent.
        rules: the `_Rules` of the sentences.
        options: the `SearchOptions`.

    Returns:
        A dictionary of "tokens", int32 (B, n, L), and "scores", float32 (B, n), the best first.
    """
    (number, length), size, n = rules.constraints.shape, options.beam_size, options.n_best
    found = {
        "tokens": np.full((number, n, length), PADDING_ID, "int32"),
        "scores": np.full((number, n), _IMPOSSIBLE),
    }
    row_rules, max_penalties = rules.repeat(size), _penalty(rules.max_lengths, options)
    sentences = np.arange(number)  # those that have not left the batch
    beam, last = _Beam(number, size, length), np.full(number, START_ID)
    width = 1  # rows of a sentence: the first slot is the only one that is not empty at first
    for position in range(length):
        logits = step(last, position, state)
        sums = _log_sum_exp(logits)
        rows = (sentences[:, None] * size + np.arange(width)).reshape(-1)
        row_rules.apply(logits, beam.tokens[:, :width].reshape(-1, length), position, rows)
        values, ids = _top_k(logits, size)
        is_full = position + 1 >= rules.max_lengths[sentences]
        penalty = _penalty(position + 1, options)
        parents = beam.extend(position, values - sums[:, None], ids, is_full, penalty)
        rows = np.arange(len(sentences))[:, None] * width + np.minimum(parents, width - 1)
        width = size
        leaving = is_full | ~beam.can_improve(n, max_penalties[sentences])
        left = None
        if leaving.any():
            best = beam.n_best(n)
            for name, result in found.items():
                result[sentences[leaving]] = best[name][leaving]
            left = np.flatnonzero(~leaving)
            if not len(left):
                break
            sentences, rows = sentences[left], rows[left]
            beam.keep(left)
        state.select(rows.reshape(-1), left)
        last = beam.tokens[:, :, position].reshape(-1)
    return found


class _Beam:
    """The hypotheses of each sentence. An empty slot has a sum of -inf and counts as ended."""

    def __init__(self, batch, size, length):
        first = np.broadcast_to(np.arange(size) == 0, (batch, size))
        self.tokens = np.full((batch, size, length), PADDING_ID, "int32")
        self.sums = np.where(first, np.float32(0), _IMPOSSIBLE)  # of log probabilities
        self.scores = np.full((batch, size), _IMPOSSIBLE)  # -inf until the hypothesis has ended
        self.ended = ~first
        self.greedy = first  # whether it is the unfinished hypothesis of greedy search

    def keep(self, sentences):
        """Drops all sentences but those with the given indices."""
        for name, x in vars(self).items():
            setattr(self, name, x[sentences])

    def extend(self, position, values, ids, is_full, penalty):
        """Selects the K best extensions by one token; ended hypotheses compete unchanged.

        Args:
            position: number of tokens found so far.
            values: float32 (R, k), log probabilities of the best tokens of each row; one row per
                sentence serves all its slots.
            ids: integers (R, k), these tokens, the best first.
            is_full: bool (B,), whether the hypotheses of a sentence now have their maximum length.
            penalty: the length penalty of hypotheses that end now.

        Returns:
            The slot that each new hypothesis extends, integers (B, K).
        """
        shape = (*self.sums.shape, ids.shape[1])  # (B, K, k)
        is_best, ended = np.arange(shape[2]) == 0, self.ended[..., None]
        frozen = np.where(is_best, self.sums[..., None], _IMPOSSIBLE)
        values, ids = (x.reshape(len(self.sums), -1, shape[2]) for x in (values, ids))
        sums = np.where(ended, frozen, self.sums[..., None] + values)
        ids = np.where(ended, PADDING_ID, ids)
        greedy = self.greedy[..., None] & is_best
        # Ended hypotheses and the greedy one are kept regardless of their sum.
        kept = (ended & (frozen > _IMPOSSIBLE)) | greedy
        sums, ids, greedy, ranks = (
            x.reshape(len(x), -1) for x in (sums, ids, greedy, np.where(kept, np.inf, sums))
        )
        chosen = _order(ranks)[:, : shape[1]]
        parents = chosen // shape[2]
        last, sums, greedy = _gather(chosen, ids, sums, greedy)
        ends = (last == END_ID) | is_full[:, None]
        was_ended, scores, tokens = _gather(parents, self.ended, self.scores, self.tokens)
        # Where candidates run out, a slot holds the copy of an ended hypothesis with a sum of -inf.
        # It must not keep the score.
        was_ended &= sums > _IMPOSSIBLE
        new_scores = np.where(ends, sums / np.float32(penalty), _IMPOSSIBLE)
        self.scores = np.where(was_ended, scores, new_scores)
        tokens[:, :, position] = last
        self.tokens, self.sums = tokens, sums
        self.ended, self.greedy = was_ended | ends, greedy & ~ends
        return parents

    def can_improve(self, n, max_penalties):
        """Returns whether an unfinished hypothesis can overtake the n best finished ones, (B,)."""
        to_beat = np.sort(self.scores, axis=1)[:, -n]
        # Upper bound of its score: its present sum at the maximum length.
        bounds = np.where(self.ended, _IMPOSSIBLE, self.sums).max(axis=1) / max_penalties
        return bounds > to_beat

    def n_best(self, n):
        """Returns the tokens, (B, n, L), and the scores, (B, n), of the n best, in a dictionary."""
        tokens, scores = _gather(_order(self.scores)[:, :n], self.tokens, self.scores)
        return {"tokens": tokens, "scores": scores}


def _penalty(length, options):
    """Computes the length penalty, equation 14 of Wu et al. (2016)."""
    return ((np.float32(5) + length) / np.float32(6)) ** np.float32(options.length_penalty)


def _gather(slots, *arrays):
    """Gathers slots of each sentence: (B, K, …) and integers (B, n) -> (B, n, …)."""
    sentences = np.arange(len(slots))[:, None]
    return [x[sentences, slots] for x in arrays]


def _order(x):
    """Returns the indices that sort each row, the largest value first, of equal ones the first."""
    return np.argsort(-x, axis=1, kind="stable")


def _top_k(x, k):
    """Returns the k largest values of each row, (R, k), and their indices; overwrites them in x.

    Of equal values, the first comes first. For the sizes of beams and vocabularies, repeating
    argmax is faster than a partition.
    """
    rows, indices = np.arange(len(x)), np.empty((len(x), min(k, x.shape[1])), int)
    values = np.empty(indices.shape, x.dtype)
    for i in range(indices.shape[1]):
        best = x.argmax(axis=1)
        indices[:, i] = best
        values[:, i] = x[rows, best]
        x[rows, best] = _IMPOSSIBLE
    return values, indices


def _log_sum_exp(x):
    maximum = x.max(axis=1)
    return maximum + np.log(np.exp(x - maximum[:, None]).sum(axis=1))
