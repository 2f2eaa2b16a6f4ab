"""Greedy search and sampling, independent of the model.

Shape letters: B sentences, K sequences per sentence, R = B * K rows, V vocabulary, L maximum
length.
"""

from typing import Any, NamedTuple

from keras import ops

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID


class SearchResult(NamedTuple):
    """The result of a search: n token sequences per sentence.

    Args:
        tokens: int32 (B, n, L), without the start token, with the end token if it was reached, then
            padding.
        scores: float32 (B, n), the log probabilities; in beam search divided by the length penalty.
    """

    tokens: Any
    scores: Any

    def group_rows(self, n):
        """Groups n adjacent rows, the samples of one sentence, and sorts them, the best first."""
        length = ops.shape(self.tokens)[-1]
        scores, order = ops.top_k(ops.reshape(self.scores, (-1, n)), n)
        tokens = ops.reshape(self.tokens, (-1, n, length))
        return SearchResult(ops.take_along_axis(tokens, ops.expand_dims(order, 2), axis=1), scores)


def greedy_search(tokens_to_logits, state, rules, with_scores=False):
    """Takes the most probable token at each position until every sequence has ended.

    Args:
        tokens_to_logits: function `(last, position, state) -> (logits, state)` of the last tokens,
            int32 (R,), and their position, an int32 scalar. It returns the logits of the next
            tokens, (R, V), and the next state. At position 0 the last tokens are the start token.
        state: the state of each sequence, such as the KV cache: tensors nested in tuples or
            dictionaries, whose first axis is R and whose shapes do not change.
        rules: the `Rules` of the rows.
        with_scores: whether to compute the scores, which takes time.

    Returns:
        A `SearchResult` with n = 1; its scores are 0 without `with_scores`.
    """

    def choose_token(logits, tokens, position):
        # Transposed logits: XLA on a CPU then transposes the output projection too, which makes a
        # step some 15% faster.
        logits = ops.transpose(logits)
        return _argmax(rules.apply(logits, tokens, position, vocab_axis=0))

    return _search_loop(tokens_to_logits, state, rules, with_scores, choose_token)


def sample(tokens_to_logits, state, rules, random_numbers, options):
    """Samples each token from the distribution that the model predicts.

    Args:
        tokens_to_logits: see `greedy_search`.
        state: see `greedy_search`.
        rules: see `greedy_search`.
        random_numbers: float32 (R, L), uniform in [0, 1); one per token to sample.
        options: the `SearchOptions`: temperature, top k and top p.

    Returns:
        A `SearchResult` with n = 1. Its scores are log probabilities at temperature 1.
    """

    def choose_token(logits, tokens, position):
        logits = rules.apply(logits, tokens, position)
        return _sample_token(logits, ops.take(random_numbers, position, axis=1), options)

    return _search_loop(tokens_to_logits, state, rules, True, choose_token)


def _search_loop(tokens_to_logits, state, rules, with_scores, choose_token):
    """Extends every sequence token by token until all have ended; see `greedy_search`."""
    (rows, length), max_lengths = ops.shape(rules.constraints), rules.max_lengths()

    def condition(position, last, ended, *others):
        return ops.logical_and(position < length, ops.logical_not(ops.all(ended)))

    def body(position, last, ended, tokens, scores, state):
        logits, state = tokens_to_logits(last, position, state)
        logits = ops.cast(logits, "float32")
        last = choose_token(logits, tokens, position)
        if with_scores:
            scores = scores + ops.where(ended, 0.0, _log_probability(logits, last))
        last = ops.where(ended, PADDING_ID, last)
        tokens = ops.slice_update(tokens, (0, position), ops.expand_dims(last, 1))
        full = position + 1 >= max_lengths
        ended = ops.logical_or(ended, ops.logical_or(last == END_ID, full))
        return position + 1, last, ended, tokens, scores, state

    initial = (
        ops.convert_to_tensor(0, dtype="int32"),
        ops.full((rows,), START_ID, dtype="int32"),
        ops.zeros((rows,), dtype="bool"),
        ops.full((rows, length), PADDING_ID, dtype="int32"),
        ops.zeros((rows,), dtype="float32"),
        state,
    )
    *_, tokens, scores, _ = ops.while_loop(condition, body, initial)
    return SearchResult(ops.expand_dims(tokens, 1), ops.expand_dims(scores, 1))


def _argmax(logits):
    """Returns the best token of each row, the first of equal ones, (V, R) -> int32 (R,)."""
    # XLA compiles these two reductions to faster code than its argmax.
    vocab_size = ops.shape(logits)[0]
    ids = ops.expand_dims(ops.arange(vocab_size, dtype="int32"), 1)
    is_best = logits == ops.max(logits, axis=0, keepdims=True)
    return ops.minimum(ops.min(ops.where(is_best, ids, vocab_size), axis=0), vocab_size - 1)


def _log_probability(logits, token):
    chosen = ops.take_along_axis(logits, ops.expand_dims(token, 1), axis=1)
    return ops.squeeze(chosen, axis=1) - ops.logsumexp(logits, axis=1)


def _sample_token(logits, random, options):
    """Samples a token for each row by inverting the cumulative distribution.

    Args:
        logits: float32 (R, V).
        random: float32 (R,), uniform in [0, 1).
        options: `SearchOptions`.

    Returns:
        int32 (R,), the first token whose cumulative probability exceeds `random`.
    """
    vocab_size = logits.shape[-1]
    width = min(options.top_k or vocab_size, vocab_size)
    values, ids = ops.top_k(logits / options.temperature, width)
    probabilities = ops.exp(values - ops.logsumexp(values, axis=1, keepdims=True))
    before = ops.cumsum(probabilities, axis=1) - probabilities
    kept = ops.where(before < options.top_p, probabilities, 0.0)
    sums = ops.cumsum(kept, axis=1)
    index = ops.sum(sums <= ops.expand_dims(random, 1) * sums[:, -1:], axis=1, keepdims=True)
    # XLA may sum in another order; rounding must not lead past the last token that is kept.
    index = ops.minimum(index, ops.sum(kept > 0, axis=1, keepdims=True) - 1)
    return ops.cast(ops.squeeze(ops.take_along_axis(ids, index, axis=1), axis=1), "int32")
