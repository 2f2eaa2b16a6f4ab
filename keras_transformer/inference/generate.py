"""Text generation with a language model."""

import dataclasses
import functools
from typing import Any, overload

import keras
import numpy as np

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.special_tokens import UNKNOWN_ID
from keras_transformer._utils.types import Texts
from keras_transformer.backends import backend_module
from keras_transformer.data.batches import bucket_length
from keras_transformer.data.tokenizers import Tokenizer
from keras_transformer.inference.model_search import ModelSearch, stepwise
from keras_transformer.inference.options import TEXT_OPTIONS, SearchOptions
from keras_transformer.inference.rules import make_constraints
from keras_transformer.inference.sentences import (
    check_texts,
    draw_random_numbers,
    trim_padding,
)
from keras_transformer.models import LSTMLanguageModel, TransformerLanguageModel

_TRANSLATION_OPTIONS = ("n_best", "min_length_ratio", "max_length_ratio", *TEXT_OPTIONS)


class Generate:
    """Continues texts with a trained language model.

    The search is that of `Translate`: the text is a prefix, and there is no source.

    Args:
        model: a `LSTMLanguageModel` or a `TransformerLanguageModel`.
        tokenizer: the tokenizer that the model was trained with.
        jit_compile: whether XLA compiles the search. None: yes on JAX, which always does, no on
            other backends. PyTorch never does.

    Raises:
        ValueError: if the tokenizer's vocabulary size is not the model's.

    Example:
        generate = kt.Generate(model, tokenizer)
        generate("In the beginning")
        generate(["I", "You"], max_tokens=10, temperature=0.8, top_k=20, seed=1)
    """

    def __init__(
        self,
        model: LSTMLanguageModel | TransformerLanguageModel,
        tokenizer: Tokenizer,
        jit_compile: bool | None = None,
    ) -> None:
        if tokenizer.vocab_size != model.vocab_size:
            raise ValueError(
                "Give the tokenizer that the model was trained with: its vocabulary has "
                f"{model.vocab_size} tokens. Received: a tokenizer of {tokenizer.vocab_size} tokens"
            )
        self.model = model
        self.tokenizer = tokenizer
        self.jit_compile = jit_compile
        if jit_compile is None:
            self.jit_compile = keras.config.backend() == "jax"
        self._searches: dict[SearchOptions, Any] = {}

    @overload
    def __call__(self, texts: str, max_tokens: int = 40, **options: Any) -> str: ...

    @overload
    def __call__(self, texts: Texts, max_tokens: int = 40, **options: Any) -> list[str]: ...

    def __call__(self, texts: str | Texts, max_tokens: int = 40, **options: Any) -> str | list[str]:
        """Continues texts until the model ends them or `max_tokens` is reached.

        Args:
            texts: a text, or a list or tuple of texts; "" starts from nothing.
            max_tokens: maximum number of tokens to add to each text.
            **options: see `SearchOptions`; `n_best`, the length ratios, which are relative to a
                source, and required and forbidden texts do not apply.

        Returns:
            A string for a string, a list of strings for a list. Each includes the given text.

        Raises:
            TypeError: if `texts` has another type, or an option does not exist or apply.
            ValueError: if an option is out of range.
        """
        if isinstance(texts, str):
            return self([texts], max_tokens, **options)[0]
        check_texts(texts, "a list of texts")
        check_sizes(max_tokens=max_tokens)
        for name in _TRANSLATION_OPTIONS:
            if name in options:
                raise TypeError(
                    f"`{name}` applies to translation only: leave it out. "
                    f"Received: {name}={options[name]}"
                )
        if not texts:
            return []
        return self._continue(texts, max_tokens, SearchOptions(**options))

    def _continue(self, texts, max_tokens, options):
        forced = [self.tokenizer.encode(text) for text in texts]
        length = bucket_length(max(map(len, forced)) + max_tokens)
        constraints = [make_constraints(0, len(ids) + max_tokens, length, ids) for ids in forced]
        request = {
            "source": np.zeros((len(texts), 1), "int32"),
            "constraints": np.stack(constraints),
        }
        if options.samples:
            numbers = draw_random_numbers(forced, length, options)
            request["random_numbers"] = numbers.reshape(-1, length)
        tokens = self._compiled_search(options)(request)["tokens"][:, 0]
        return [self._detokenize(text, ids) for text, ids in zip(texts, tokens, strict=True)]

    def _compiled_search(self, options):
        # The seed only affects the random numbers, which are an input: one graph serves all seeds.
        options = dataclasses.replace(options, seed=0)
        if options not in self._searches:
            search = ModelSearch(self._stepwise_model, options, with_forced=True)
            self._searches[options] = backend_module().compile_inference(search, self.jit_compile)
        return self._searches[options]

    @functools.cached_property
    def _stepwise_model(self):
        return stepwise(self.model)

    def _detokenize(self, text, ids):
        """Converts ids to text; the unknown words of the given text stay as they were."""
        ids, words = trim_padding(ids), self.tokenizer.words(text)
        unknown = [word for word, i in zip(words, ids, strict=False) if i == UNKNOWN_ID]
        return self.tokenizer.decode(ids, unknown)
