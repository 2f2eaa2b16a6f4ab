"""A search over a model, compiled."""

import keras
from keras import ops

from keras_transformer.inference.beam import beam_search
from keras_transformer.inference.rules import Rules
from keras_transformer.inference.search import greedy_search, sample
from keras_transformer.layers.record_attention import record_attention


class ModelSearch(keras.Model):
    """Source ids to target ids, as a model that Keras compiles for each backend.

    Shape letters: B sentences, S source length, L greatest number of tokens, n translations for
    each sentence, K rows decoded for each, N heads.

    Args:
        model: what encodes and decodes: it has the methods `start` and `step` of
            `TransformerModel`, and `empty_attention` and `name_attention` if the attention is
            wanted.
        options: `SearchOptions`.
        with_forced: whether a plan forces tokens.
        with_scores: whether the scores are wanted.
        with_attention: whether the attention is wanted.
    """

    def __init__(
        self, model, options, with_forced=False, with_scores=False, with_attention=False, **kwargs
    ):
        super().__init__(dtype=model.dtype_policy, **kwargs)
        self.model = model
        self.options = options
        self.with_forced = with_forced
        self.with_scores = with_scores
        self.with_attention = with_attention
        self.built = True  # it has no variables but the model's

    def call(self, request):
        """Searches.

        Args:
            request: dictionary of
                "source": int32 (B, S), padded source ids with their end;
                "plan": int32 (B, L), see `make_plan`;
                "randoms": float32 (B * n, L), for sampling only, see `sample`.

        Returns:
            A dictionary of "tokens" (B, n, L); with scores, of "scores" (B, n); with attention, of
            "rows" (B, n, L), "encoder", a list of (B, N, S, S) per layer, and "log", a dictionary
            of such lists: "causal" (B * K, N, L, L) and "cross" (B * K, N, L, S). See `Found`.
            A model without such attention has no such entry.
        """
        source, length = request["source"], ops.shape(request["plan"])[1]
        with record_attention() as weights:
            cache, memory = self.model.start(source, length, copies=self.options.rows)

        def tokens_to_logits(last, position, cache, log):
            with record_attention() as weights:
                logits, cache = self.model.step(last, position, cache, memory)
            return logits, cache, self._note(weights, position, log)

        found = self._search(tokens_to_logits, cache, request, self._empty_log(source, length))
        result = {"tokens": found.tokens}  # each output costs time
        if self.with_scores:
            result["scores"] = found.scores
        if self.with_attention:
            result.update(self.model.name_attention(weights), rows=found.rows, log=found.log)
        return result

    def _search(self, tokens_to_logits, cache, request, log):
        options = self.options
        rules = Rules(
            request["plan"],
            self.with_forced,
            options.no_repeat_ngram_size,
            options.allow_unknown,
        )
        if options.beam_size > 1:
            return beam_search(tokens_to_logits, cache, rules, log, options)
        if not options.samples:
            return greedy_search(tokens_to_logits, cache, rules, log, self.with_scores)
        rules = rules.repeat(options.n_best)
        found = sample(tokens_to_logits, cache, rules, log, request["randoms"], options)
        return found.of_sentences(options.n_best)

    def _empty_log(self, source, length):
        if not self.with_attention:
            return ()
        batch, source_length = ops.shape(source)
        return self.model.empty_attention(batch * self.options.rows, source_length, length)

    def _note(self, weights, position, log):
        if not self.with_attention:
            return log
        named = self.model.name_attention(weights)
        return {
            kind: [
                ops.slice_update(all_rows, (0, 0, position, 0), row)
                for all_rows, row in zip(log[kind], named[kind], strict=True)
            ]
            for kind in log
        }
