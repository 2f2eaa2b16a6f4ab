"""Searching for the best translation, or drawing one. Knows no model.

Shape letters: B sentences, K rows for each of them, R = B * K rows, V words, L the greatest number
of tokens.
"""

from typing import Any, NamedTuple

from keras import ops

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID


class Found(NamedTuple):
    """What a search returns: n token sequences for each sentence.

    Args:
        tokens: int32 (B, n, L), without the start, with the end if it was reached, then padding.
        scores: float32 (B, n), the log probabilities, in a beam divided by the length penalty.
    """

    tokens: Any
    scores: Any

    def of_sentences(self, n):
        """The same with the sequences of n rows next to each other as those of one sentence, the
        best first."""
        length = ops.shape(self.tokens)[-1]
        scores, order = ops.top_k(ops.reshape(self.scores, (-1, n)), n)
        tokens = ops.reshape(self.tokens, (-1, n, length))
        return Found(ops.take_along_axis(tokens, ops.expand_dims(order, 2), axis=1), scores)


def greedy_search(tokens_to_logits, state, rules, with_scores=False):
    """Takes the most probable token at each position until every sequence has ended.

    Args:
        tokens_to_logits: function of the last tokens, int32 (R,), their position, an int32 scalar,
            and the state; it returns the logits of the next tokens, (R, V), and the next state. At
            position 0 the tokens are the start.
        state: what that function needs to know of each sequence: tensors, nested in tuples or
            dictionaries, whose first axis is R and whose shapes stay the same.
        rules: the `Rules` of the rows.
        with_scores: whether to compute the scores, which costs time.

    Returns:
        `Found` with n = 1, K = 1; scores of 0 unless asked for.
    """

    def choose(logits, tokens, position):
        # With the words first: on a processor XLA then turns the product that the logits come from
        # round as well, which makes a step some 15% faster.
        logits = ops.transpose(logits)
        return _argmax(rules.apply(logits, tokens, position, words_axis=0))

    return _one_by_one(tokens_to_logits, state, rules, with_scores, choose)


def sample(tokens_to_logits, state, rules, randoms, options):
    """Draws tokens with their probability.

    Args:
        tokens_to_logits: see `greedy_search`.
        state: see `greedy_search`.
        rules: see `greedy_search`.
        randoms: float32 (R, L), uniform in [0, 1): what each token is drawn with.
        options: `SearchOptions` with temperature, top k and top p.

    Returns:
        `Found` with n = 1, K = 1, with scores: the log probabilities without the temperature.
    """

    def choose(logits, tokens, position):
        logits = rules.apply(logits, tokens, position)
        return _draw(logits, ops.take(randoms, position, axis=1), options)

    return _one_by_one(tokens_to_logits, state, rules, True, choose)


def _one_by_one(tokens_to_logits, state, rules, with_scores, choose):
    (rows, length), longest = ops.shape(rules.plan), rules.longest()

    def going_on(position, last, ended, *others):
        return ops.logical_and(position < length, ops.logical_not(ops.all(ended)))

    def go_on(position, last, ended, tokens, scores, state):
        logits, state = tokens_to_logits(last, position, state)
        logits = ops.cast(logits, "float32")
        last = choose(logits, tokens, position)
        if with_scores:
            scores = scores + ops.where(ended, 0.0, _log_probability(logits, last))
        last = ops.where(ended, PADDING_ID, last)
        tokens = ops.slice_update(tokens, (0, position), ops.expand_dims(last, 1))
        full = position + 1 >= longest
        ended = ops.logical_or(ended, ops.logical_or(last == END_ID, full))
        return position + 1, last, ended, tokens, scores, state

    first = (
        ops.convert_to_tensor(0, dtype="int32"),
        ops.full((rows,), START_ID, dtype="int32"),
        ops.zeros((rows,), dtype="bool"),
        ops.full((rows, length), PADDING_ID, dtype="int32"),
        ops.zeros((rows,), dtype="float32"),
        state,
    )
    *_, tokens, scores, _ = ops.while_loop(going_on, go_on, first)
    return Found(ops.expand_dims(tokens, 1), ops.expand_dims(scores, 1))


def _argmax(logits):
    """The best token of each row, (V, R) -> int32 (R,); of equal ones the first."""
    # Two plain reductions, which XLA computes faster than its argmax.
    words = ops.shape(logits)[0]
    ids = ops.expand_dims(ops.arange(words, dtype="int32"), 1)
    is_best = logits == ops.max(logits, axis=0, keepdims=True)
    return ops.minimum(ops.min(ops.where(is_best, ids, words), axis=0), words - 1)


def _log_probability(logits, token):
    chosen = ops.take_along_axis(logits, ops.expand_dims(token, 1), axis=1)
    return ops.squeeze(chosen, axis=1) - ops.logsumexp(logits, axis=1)


def _draw(logits, random, options):
    """A token of each row, int32 (R,): the first whose cumulative probability exceeds `random`."""
    words = logits.shape[-1]
    width = min(options.top_k or words, words)
    values, ids = ops.top_k(logits / options.temperature, width)
    probabilities = ops.exp(values - ops.logsumexp(values, axis=1, keepdims=True))
    before = ops.cumsum(probabilities, axis=1) - probabilities
    kept = ops.where(before < options.top_p, probabilities, 0.0)
    sums = ops.cumsum(kept, axis=1)
    index = ops.sum(sums <= ops.expand_dims(random, 1) * sums[:, -1:], axis=1, keepdims=True)
    # XLA adds in an order of its own, and rounding must not lead beyond the last word that is kept.
    index = ops.minimum(index, ops.sum(kept > 0, axis=1, keepdims=True) - 1)
    return ops.cast(ops.squeeze(ops.take_along_axis(ids, index, axis=1), axis=1), "int32")
