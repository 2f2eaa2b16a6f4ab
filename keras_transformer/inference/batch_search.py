"""Batched search for the translations of encoded sentences, with NumPy or compiled layers."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import keras
import numpy as np

from keras_transformer._utils.special_tokens import START_ID
from keras_transformer.backends import backend_module
from keras_transformer.data.batches import bucket_length, pad_ids
from keras_transformer.inference.model_search import AttentionScores, ModelSearch, stepwise
from keras_transformer.inference.numpy_copy import NumpyCopy
from keras_transformer.inference.numpy_search import NumpySearch, search_in_threads
from keras_transformer.inference.options import EXTRA_LENGTH
from keras_transformer.inference.rules import make_constraints, pad_banned
from keras_transformer.inference.sentences import draw_random_numbers
from keras_transformer.layers._parts import changed_part


class Request(NamedTuple):
    """A sentence to translate."""

    position: int  # in the list of sentences
    sentence: str
    ids: list[int]
    forced: list[int]  # see `make_constraints`
    words: list[str | None]  # the given word of each forced token
    min_length: int  # see `make_constraints`
    max_length: int
    sample: int = 0  # number of the first sample
    banned: Sequence[list[int]] = ()  # see `pad_banned`


class BatchSearch:
    """Searches in batches, with a copy of the model in NumPy where it can, else compiled.

    Args:
        model: a `Translator`.
        batch_tokens: see `Translate`.
        jit_compile: see `Translate`.
    """

    def __init__(self, model, batch_tokens, jit_compile):
        self.model = model
        self.batch_tokens = batch_tokens
        self.jit_compile = jit_compile
        if jit_compile is None:
            self.jit_compile = keras.config.backend() == "jax"
        use_numpy = jit_compile is None and NumpyCopy.can_copy(model)
        self._numpy_copy = NumpyCopy(model) if use_numpy else None
        self._searches = {}
        # Compiles on the first call, but raises the error of an unsupported `jit_compile` here.
        self._attention_scores = backend_module().compile_inference(
            AttentionScores(model), self.jit_compile
        )

    def run(self, requests, options, with_scores, attention, check_weights):
        """Searches for all requests.

        Args:
            requests: list of `Request`.
            options: the `SearchOptions`.
            with_scores: whether greedy search computes scores.
            attention: None, or the kind of attention weights that the outputs must have: "any" or
                "cross".
            check_weights: whether the weights may have changed since the last call.

        Yields:
            A batch of requests and the outputs of its search, with the source ids and, if asked
            for, the attention weights.
        """
        numpy_model = self._numpy_copy and self._numpy_copy.get(check_weights)
        batches = list(self._batches(requests, options))

        def search(batch):
            return self._search(batch, options, with_scores, numpy_model)

        find = map if numpy_model is None else search_in_threads
        for batch, output in zip(batches, find(search, batches), strict=True):
            if attention:
                output["attention"] = self.attention_weights(output, attention)
            yield batch, output

    def max_length(self, options, source_length):
        """Returns the maximum number of tokens of the translations of sentences of a length."""
        return self.within_limit(int(options.max_length_ratio * source_length) + EXTRA_LENGTH)

    def within_limit(self, length):
        """Returns a number of tokens, or that of the positions of the model if it has fewer."""
        return min(length, getattr(self.model, "dec_seq_length", None) or length)

    def _batches(self, requests, options):
        """Yields batches of requests of similar length, the longest first."""
        requests = sorted(requests, key=lambda request: len(request.ids), reverse=True)
        while requests:
            size = self._full_batch_size(bucket_length(len(requests[0].ids)), options)
            yield requests[:size]
            requests = requests[size:]

    def _full_batch_size(self, length, options):
        """Returns the number of sentences in a full batch, a power of 2."""
        return 1 << max(0, (self.batch_tokens // (length * options.rows)).bit_length() - 1)

    def _search(self, batch, options, with_scores, numpy_model):
        """Runs the search and returns its outputs and the source ids.

        Args:
            batch: list of `Request`, the longest sentence first.
            options: the `SearchOptions`.
            with_scores: whether greedy search computes scores.
            numpy_model: the `NumpyTransformer` to search with; None for the compiled search.
        """
        source_length, rows = len(batch[0].ids), len(batch)
        if numpy_model is None:
            source_length = bucket_length(source_length)
            rows = self._compiled_rows(rows, source_length, options)
        length = self.max_length(options, source_length)
        longest = max(x.max_length for x in batch)
        if longest > length:  # required texts make room for themselves
            length = self.within_limit(bucket_length(longest))
        constraints = [
            make_constraints(x.min_length, x.max_length, length, x.forced) for x in batch
        ]
        ids = [x.ids for x in batch]
        row = np.minimum(np.arange(rows), len(batch) - 1)
        inputs = {
            "source": pad_ids(ids, source_length)[row],
            "constraints": np.stack(constraints)[row],
        }
        if options.samples:
            numbers = draw_random_numbers(ids, length, options, [x.sample for x in batch])
            inputs["random_numbers"] = numbers[row].reshape(-1, length)
        banned = pad_banned([x.banned for x in batch])
        if banned is not None:
            inputs["banned"] = banned[row]
        if numpy_model is not None:
            search = NumpySearch(numpy_model, options, with_scores)
        else:
            with_forced = any(x.forced for x in batch)
            search = self._compiled_search(options, with_forced, with_scores)
        return {"source": inputs["source"], **search(inputs)}

    def _compiled_rows(self, rows, source_length, options):
        """Returns the number of rows to compute.

        XLA compiles each number of rows separately, so only a few are used: 1, 4, 16, … and that of
        a full batch. Copies of the last row fill the batch; they end with it.
        """
        if not self.jit_compile or rows == 1:
            return rows
        full_batch = self._full_batch_size(source_length, options)
        return min(4 ** math.ceil(math.log(rows, 4)), full_batch)

    def attention_weights(self, result, kind, optional=False):
        """Computes the attention weights of each sequence of each sentence.

        Args:
            result: the outputs of a search with the source ids.
            kind: see `run`.
            optional: whether to return None for a model that stores none, instead of an error.
        """
        tokens = result["tokens"]
        target = np.roll(tokens, 1, axis=2)
        target[:, :, 0] = START_ID
        source = np.repeat(result["source"], tokens.shape[1], axis=0)
        found = self._attention_scores(
            {"source": source, "target": target.reshape(-1, tokens.shape[2])}
        )
        if not found or (kind == "cross" and kind not in found):
            if optional:
                return None
            raise ValueError(
                "`return_attention` and `replace_unknown` need the attention weights of the model. "
                "An attention layer of your own passes them to `kt.store_attention` in its `call`. "
                f"Received: {changed_part(self.model)}, which stores none"
            )
        return found

    def _compiled_search(self, options, with_forced, with_scores):
        # These three only affect the inputs (constraints, random numbers), so the compiled search
        # is shared.
        options = dataclasses.replace(options, seed=0, min_length_ratio=0.0, max_length_ratio=0.0)
        # Only greedy search is faster without scores.
        key = (options, with_forced, with_scores or options.samples or options.beam_size > 1)
        if key not in self._searches:
            search = ModelSearch(self._stepwise_model, *key)
            search = backend_module().compile_inference(search, self.jit_compile)
            self._searches.setdefault(key, search)  # another thread may have been faster
        return self._searches[key]

    @functools.cached_property
    def _stepwise_model(self):
        return stepwise(self.model)
