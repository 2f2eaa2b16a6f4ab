"""Searches and attention weights of a model as Keras models, to be compiled."""

import keras
from keras import ops

from keras_transformer.inference.beam import beam_search
from keras_transformer.inference.rules import Rules
from keras_transformer.inference.search import greedy_search, sample


class ModelSearch(keras.Model):
    """A search from source ids to target ids, as a Keras model that every backend can compile.

    Shape letters: B sentences, S source length, L maximum length, n translations per sentence.

    Args:
        model: a model with the methods `start` and `step` of `TransformerModel`.
        options: the `SearchOptions`.
        with_forced: whether the constraints may force tokens.
        with_scores: whether to return the scores.
    """

    def __init__(self, model, options, with_forced=False, with_scores=False, **kwargs):
        super().__init__(dtype=model.dtype_policy, **kwargs)
        self.model = model
        self.options = options
        self.with_forced = with_forced
        self.with_scores = with_scores
        self.built = True  # no variables except those of `model`

    def call(self, request):
        """Runs the search.

        Args:
            request: dictionary of
                "source": int32 (B, S), padded source ids with their end token;
                "constraints": int32 (B, L), see `make_constraints`;
                "random_numbers": float32 (B * n, L), for sampling only, see `sample`.

        Returns:
            A dictionary of "tokens" (B, n, L) and, with `with_scores`, "scores" (B, n); see
            `SearchResult`.
        """
        length = ops.shape(request["constraints"])[1]
        cache, memory = self.model.start(request["source"], length, copies=self.options.rows)

        def tokens_to_logits(last, position, cache):
            return self.model.step(last, position, cache, memory)

        result = self._search(tokens_to_logits, cache, request)
        if self.with_scores:
            return {"tokens": result.tokens, "scores": result.scores}
        return {"tokens": result.tokens}  # each output costs time

    def _search(self, tokens_to_logits, cache, request):
        options = self.options
        rules = Rules(
            request["constraints"],
            self.with_forced,
            options.no_repeat_ngram_size,
            options.allow_unknown,
        )
        if options.beam_size > 1:
            return beam_search(tokens_to_logits, cache, rules, options)
        if not options.samples:
            return greedy_search(tokens_to_logits, cache, rules, self.with_scores)
        rules = rules.repeat(options.n_best)
        result = sample(tokens_to_logits, cache, rules, request["random_numbers"], options)
        return result.group_rows(options.n_best)


class AttentionScores(keras.Model):
    """The attention weights of a model for given translations, as a Keras model.

    They are computed in a second pass over all positions at once and equal those of the search
    steps, so the search does not have to store them.

    Args:
        model: a model with the method `attention_weights` of `Translator`.
    """

    def __init__(self, model, **kwargs):
        super().__init__(dtype=model.dtype_policy, **kwargs)
        self.model = model
        self.built = True  # no variables except those of `model`

    def call(self, request):
        """Computes the attention weights.

        Args:
            request: dictionary of
                "source": int32 (R, S), padded source ids;
                "target": int32 (R, L), padded target ids after the start token.

        Returns:
            The dictionary that `attention_weights` returns.
        """
        return self.model.attention_weights(request["source"], request["target"])
