"""Batched search for the translations of encoded sentences, with one of the engines."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import keras
import numpy as np

from keras_transformer._utils.special_tokens import START_ID
from keras_transformer.backends import backend_module
from keras_transformer.data.batches import bucket_length, next_power_of_4, pad_ids
from keras_transformer.inference.ctranslate2_search import CTranslate2Search, common_size
from keras_transformer.inference.engines import check_engine, check_served
from keras_transformer.inference.model_search import AttentionScores, ModelSearch, stepwise
from keras_transformer.inference.numpy_copy import ModelCopy, NumpyCopy
from keras_transformer.inference.numpy_search import NumpySearch, search_in_threads
from keras_transformer.inference.options import EXTRA_LENGTH
from keras_transformer.inference.rules import make_constraints, pad_banned
from keras_transformer.inference.sentences import draw_random_numbers, max_source_tokens
from keras_transformer.layers._parts import changed_part
from keras_transformer.models.ensemble import supports_numpy_search


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
    """Searches in batches, with the layers of a model or a copy for another engine.

    Args:
        model: a `Translator`.
        batch_tokens: see `Translate`.
        jit_compile: see `Translate`.
        engine: see `Translate`.
        compute_type: see `Translate`.

    Attributes:
        engine: the engine that searches, not "auto".
    """

    def __init__(self, model, batch_tokens, jit_compile, engine="auto", compute_type=None):
        check_engine(engine, compute_type, jit_compile)
        self.model = model
        self.batch_tokens = batch_tokens
        self.jit_compile = keras.config.backend() == "jax" if jit_compile is None else jit_compile
        if engine == "auto":
            use_numpy = jit_compile is None and NumpyCopy.can_copy(model)
            engine = "numpy" if use_numpy else "layers"
        self.engine = engine
        self._copy = self._make_copy(compute_type or "float32")
        self._searches = {}
        # Compiles on the first call, but raises the error of an unsupported `jit_compile` here.
        self._attention_scores = backend_module().compile_inference(
            AttentionScores(model), self.jit_compile
        )

    def _make_copy(self, compute_type):
        if self.engine == "layers":
            return None
        if self.engine == "ctranslate2":
            copy = ModelCopy(self.model, lambda model: CTranslate2Search(model, compute_type))
            copy.get(check_weights=True)  # raises the error of an unsupported model here
            return copy
        if not supports_numpy_search(self.model):
            raise ValueError(
                "NumPy computes only an unchanged `TransformerModel` in float32: choose the engine "
                f'"layers". Received: {type(self.model).__name__}'
            )
        return NumpyCopy(self.model)

    def check(self, options):
        """Raises a ValueError if the engine lacks one of the `SearchOptions`."""
        if self.engine == "ctranslate2":
            check_served(options)

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
            A batch of requests and the outputs of its search, with the attention weights if asked
            for.
        """
        copy = self._copy and self._copy.get(check_weights)
        batches = list(self._batches(requests, options))

        def search(batch):
            return self._search(batch, options, with_scores, copy)

        find = map if copy is None or len(batches) == 1 else search_in_threads
        for batch, output in zip(batches, find(search, batches), strict=True):
            if attention:
                if "source" not in output:
                    output["source"] = pad_ids([x.ids for x in batch], len(batch[0].ids))
                output["attention"] = self.attention_weights(output, attention)
            yield batch, output

    def max_length(self, options, source_length):
        """Returns the maximum number of tokens of the translations of sentences of a length."""
        return self.within_limit(int(options.max_length_ratio * source_length) + EXTRA_LENGTH)

    def within_limit(self, length):
        """Returns a number of tokens, or that of the positions of the model if it has fewer."""
        return min(length, getattr(self.model, "dec_seq_length", None) or length)

    def padded(self, length):
        """Returns the length to which source ids of a length are padded: few shapes to compile."""
        return min(bucket_length(length), max_source_tokens(self.model) + 1)

    def _batches(self, requests, options):
        """Yields batches of requests of similar length, the longest first."""
        requests = sorted(requests, key=lambda request: len(request.ids), reverse=True)
        while requests:
            if self.engine == "ctranslate2":
                size = common_size(requests, options, self.batch_tokens)
            else:
                size = self._full_batch_size(self.padded(len(requests[0].ids)), options)
            yield requests[:size]
            requests = requests[size:]

    def _full_batch_size(self, length, options):
        """Returns the number of sentences in a full batch, a power of 2."""
        return 1 << max(0, (self.batch_tokens // (length * options.rows)).bit_length() - 1)

    def _search(self, batch, options, with_scores, copy):
        """Runs the search and returns its outputs and the source ids.

        Args:
            batch: list of `Request`, the longest sentence first.
            options: the `SearchOptions`.
            with_scores: whether greedy search computes scores.
            copy: what the engine searches with; None for the compiled search.
        """
        source_length, rows = len(batch[0].ids), len(batch)
        if self.engine == "ctranslate2":
            return copy(batch, options, with_scores)
        if copy is None:
            source_length = self.padded(source_length)
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
        if copy is not None:
            search = NumpySearch(copy, options, with_scores)
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
        return min(next_power_of_4(rows), full_batch)

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
