"""Compiled searches over a model, and its attention weights for what they find."""

import keras
from keras import ops

from keras_transformer.inference.beam import beam_search
from keras_transformer.inference.rules import Rules
from keras_transformer.inference.search import greedy_search, sample


class ModelSearch(keras.Model):
    """Source ids to target ids, as a model that Keras compiles for each backend.

    Shape letters: B sentences, S source length, L greatest number of tokens, n translations for
    each sentence.

    Args:
        model: what encodes and decodes: it has the methods `start` and `step` of
            `TransformerModel`.
        options: `SearchOptions`.
        with_forced: whether a plan forces tokens.
        with_scores: whether the scores are wanted.
    """

    def __init__(self, model, options, with_forced=False, with_scores=False, **kwargs):
        super().__init__(dtype=model.dtype_policy, **kwargs)
        self.model = model
        self.options = options
        self.with_forced = with_forced
        self.with_scores = with_scores
        self.built = True  # it has no variables but the model's

    def call(self, request):
        """Searches.

        Args:
            request: dictionary of
                "source": int32 (B, S), padded source ids with their end;
                "plan": int32 (B, L), see `make_plan`;
                "randoms": float32 (B * n, L), for sampling only, see `sample`.

        Returns:
            A dictionary of "tokens" (B, n, L); with scores, of "scores" (B, n). See `Found`.
        """
        length = ops.shape(request["plan"])[1]
        cache, memory = self.model.start(request["source"], length, copies=self.options.rows)

        def tokens_to_logits(last, position, cache):
            return self.model.step(last, position, cache, memory)

        found = self._search(tokens_to_logits, cache, request)
        if self.with_scores:
            return {"tokens": found.tokens, "scores": found.scores}
        return {"tokens": found.tokens}  # each output costs time

    def _search(self, tokens_to_logits, cache, request):
        options = self.options
        rules = Rules(
            request["plan"],
            self.with_forced,
            options.no_repeat_ngram_size,
            options.allow_unknown,
        )
        if options.beam_size > 1:
            return beam_search(tokens_to_logits, cache, rules, options)
        if not options.samples:
            return greedy_search(tokens_to_logits, cache, rules, self.with_scores)
        rules = rules.repeat(options.n_best)
        found = sample(tokens_to_logits, cache, rules, request["randoms"], options)
        return found.of_sentences(options.n_best)


class AttentionScores(keras.Model):
    """Attention weights of a model for given translations, as a model that Keras compiles.

    A second pass over all positions at once gives what the steps of the search have computed, so
    that the search need not carry it along.

    Args:
        model: has the method `attention_scores` of `Translator`.
    """

    def __init__(self, model, **kwargs):
        super().__init__(dtype=model.dtype_policy, **kwargs)
        self.model = model
        self.built = True  # it has no variables but the model's

    def call(self, request):
        """Computes the attention weights.

        Args:
            request: dictionary of
                "source": int32 (R, S), padded source ids;
                "target": int32 (R, L), padded target ids after the start token.

        Returns:
            The dictionary that `attention_scores` returns.
        """
        return self.model.attention_scores(request["source"], request["target"])
