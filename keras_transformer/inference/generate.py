"""Going on with a text."""

import dataclasses

import keras
import numpy as np

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.special_tokens import UNKNOWN_ID
from keras_transformer.backends import backend_module
from keras_transformer.data.batches import bucket_length
from keras_transformer.inference.model_search import ModelSearch
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.rules import make_plan
from keras_transformer.inference.sentences import check_texts, draw_randoms, until_end


class Generate:
    """Continues texts with a trained language model.

        generate = Generate(model, tokenizer)
        generate("In the beginning")
        generate(["I", "You"], max_tokens=10, temperature=0.8, top_k=20, seed=1)

    The search is that of `Translate`: the text is a prefix, and there is no source.

    Args:
        model: a `LSTMLanguageModel` or a `TransformerLanguageModel`.
        tokenizer: the tokenizer that it was trained with.
        jit_compile: whether XLA compiles the search. None: on JAX, which always does, but not on
            TensorFlow.

    Raises:
        ValueError: if the vocabulary is not the model's.
    """

    def __init__(self, model, tokenizer, jit_compile=None):
        if tokenizer.vocab_size != model.vocab_size:
            raise ValueError(
                "The tokenizer must be the one that the model was trained with: it knows "
                f"{model.vocab_size} words. Received: a tokenizer of {tokenizer.vocab_size} words"
            )
        self.model = model
        self.tokenizer = tokenizer
        self.jit_compile = jit_compile
        if jit_compile is None:
            self.jit_compile = keras.config.backend() == "jax"
        self._searches = {}

    def __call__(self, texts, max_tokens=40, **options):
        """Continues texts until the model ends them.

        Args:
            texts: a text, or a list or tuple of texts; "" for one from the beginning.
            max_tokens: greatest number of tokens to add to each.
            **options: see `SearchOptions`. Its length ratios, which are relative to a source, and
                `n_best` are not for this.

        Returns:
            A text for a text, a list for a list, each with its beginning.

        Raises:
            TypeError: if something else is given, or an option that does not exist.
            ValueError: if an option is out of range.
        """
        if isinstance(texts, str):
            return self([texts], max_tokens, **options)[0]
        check_texts(texts, "a list of texts")
        check_sizes(max_tokens=max_tokens)
        for name in ("n_best", "min_length_ratio", "max_length_ratio"):
            if name in options:
                raise TypeError(f"`{name}` is for translations. Received: {name}={options[name]}")
        if not texts:
            return []
        return self._continue(texts, max_tokens, SearchOptions(**options))

    def _continue(self, texts, max_tokens, options):
        forced = [self.tokenizer.encode(text) for text in texts]
        length = bucket_length(max(map(len, forced)) + max_tokens)
        plans = [make_plan(0, len(ids) + max_tokens, length, ids) for ids in forced]
        inputs = {"source": np.zeros((len(texts), 1), "int32"), "plan": np.stack(plans)}
        if options.samples:
            inputs["randoms"] = draw_randoms(forced, length, options).reshape(-1, length)
        tokens = self._compiled(options)(inputs)["tokens"][:, 0]
        return [self._read(text, ids) for text, ids in zip(texts, tokens, strict=True)]

    def _compiled(self, options):
        options = dataclasses.replace(options, seed=0)  # it is in the random numbers
        if options not in self._searches:
            search = ModelSearch(self.model, options, with_forced=True)
            self._searches[options] = backend_module().compile_inference(search, self.jit_compile)
        return self._searches[options]

    def _read(self, text, ids):
        """The text as it was given where the vocabulary lacks its words, and what comes after."""
        ids, words = until_end(ids), self.tokenizer.words(text)
        unknown = [word for word, i in zip(words, ids, strict=False) if i == UNKNOWN_ID]
        return self.tokenizer.decode(ids, unknown)
