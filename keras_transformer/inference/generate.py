"""Text generation with a language model."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any, Self, overload

import keras
import numpy as np

from keras_transformer._utils.checks import check_length, check_sizes
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.special_tokens import END_ID, START_ID, UNKNOWN_ID
from keras_transformer._utils.types import PathLike, Texts
from keras_transformer.backends import backend_module
from keras_transformer.data.batches import bucket_length
from keras_transformer.data.published_tokenizer import PublishedTokenizer
from keras_transformer.data.tokenizers import Tokenizer
from keras_transformer.inference.layer_steps import LayerSteps
from keras_transformer.inference.model_search import (
    ModelSearch,
    WithoutCache,
    stepwise,
    within_positions,
)
from keras_transformer.inference.numpy_copy import NumpyCopy
from keras_transformer.inference.numpy_search import NumpySearch
from keras_transformer.inference.options import TEXT_OPTIONS, SearchOptions
from keras_transformer.inference.rules import ANY_TOKEN, make_constraints
from keras_transformer.inference.sentences import (
    check_texts,
    draw_random_numbers,
    trim_padding,
)
from keras_transformer.layers.position_embedding import PositionEmbeddingLayer
from keras_transformer.models import LSTMLanguageModel, TransformerLanguageModel

_TRANSLATION_OPTIONS = ("n_best", "min_length_ratio", "max_length_ratio", *TEXT_OPTIONS)


class Generate:
    """Continues texts with a trained language model.

    The search is that of `Translate`: the text is a prefix, and there is no source. On a CPU in
    float32, most Transformers are computed with NumPy, others with their layers.

    Args:
        model: a `LSTMLanguageModel` or a `TransformerLanguageModel`.
        tokenizer: the tokenizer that the model was trained with.
        jit_compile: whether XLA compiles the search with the layers. None: yes on JAX, which always
            does, no on other backends. PyTorch never does.

    Raises:
        ValueError: if the tokenizer's vocabulary size is not the model's.

    Example:
        generate = kt.Generate(model, tokenizer)
        generate("In the beginning")
        generate(["I", "You"], max_tokens=10, temperature=0.8, top_k=20, seed=1)
        for part in generate.stream("In the beginning"):
            print(part, end="", flush=True)
    """

    def __init__(
        self,
        model: LSTMLanguageModel | TransformerLanguageModel,
        tokenizer: Tokenizer | PublishedTokenizer,
        jit_compile: bool | None = None,
    ) -> None:
        if tokenizer.vocab_size != model.vocab_size:
            raise ValueError(
                "Give the tokenizer that the model was trained with: its vocabulary has "
                f"{model.vocab_size} tokens. Received: a tokenizer of {tokenizer.vocab_size} tokens"
            )
        self.model = model
        self.tokenizer = tokenizer
        self.jit_compile = keras.config.backend() == "jax" if jit_compile is None else jit_compile
        self._searches: dict[SearchOptions, Any] = {}
        use_numpy = jit_compile is None and NumpyCopy.can_copy(model)
        self._numpy_copy = NumpyCopy(model) if use_numpy else None
        # Ids that end a text; of several, a search knows only one.
        self._ends = {END_ID, *getattr(tokenizer, "end_ids", ())}

    @classmethod
    def from_pretrained(cls, folder: PathLike, dtype: Any = None, **kwargs: Any) -> Self:
        """Loads a published language model of the Llama family, with its tokenizer.

        Args:
            folder: path of the model's folder, see `TransformerLanguageModel.from_pretrained` and
                `PublishedTokenizer.load`.
            dtype: dtype policy of the model; None for Keras's global policy.
            **kwargs: further arguments of `Generate`.

        Returns:
            A `Generate`.

        Raises:
            FileNotFoundError: if a file is missing.
            ValueError: if a file is damaged, or the model is not supported.

        Example:
            generate = kt.Generate.from_pretrained("SmolLM2-135M")
            print("".join(generate.stream("The capital of France is", max_tokens=10)))
        """
        tokenizer = PublishedTokenizer.load(folder)
        return cls(TransformerLanguageModel.from_pretrained(folder, dtype), tokenizer, **kwargs)

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
            ValueError: if an option is out of range, or a text and `max_tokens` exceed the learned
                positions of the model, or the length that a model without a cache is called with.
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
        options = SearchOptions(**options)
        return self._continue(texts, max_tokens, options) if texts else []

    def stream(self, text: str, max_tokens: int = 40, **options: Any) -> Iterator[str]:
        """Continues a text like a call, but yields each part as soon as it is known.

        Args:
            text: the text, which is read at once.
            max_tokens: maximum number of tokens to add.
            **options: those of `SearchOptions` for greedy search and sampling.

        Yields:
            The parts of the continuation, of one or more tokens.

        Raises:
            TypeError: if an option does not exist or needs the whole text.
            ValueError: if an option is out of range.
        """
        check_texts([text], "a text")
        check_sizes(max_tokens=max_tokens)
        known = {"temperature", "top_k", "top_p", "seed", "allow_unknown"}
        if others := sorted(options.keys() - known):
            raise TypeError(
                f"Streaming knows the options {sorted(known)}: call `Generate` for others. "
                f"Received: {', '.join(others)}"
            )
        return self._stream(text, max_tokens, SearchOptions(**options))

    def _stream(self, text, max_tokens, options):
        given = self._encode(text, max_tokens)
        # The last tokens of the text are decoded with the new ones, which may belong together.
        context, found = given[-8:], []
        written = self.tokenizer.decode(context)
        for token in self._tokens(given, max_tokens, options):
            found.append(token)
            decoded = self.tokenizer.decode([*context, *found])
            if not decoded.endswith("\ufffd"):  # the first bytes of a character
                yield decoded[len(written) :]
                written = decoded

    def _tokens(self, given, max_tokens, options):
        """Yields the ids of a continuation, without the end token."""
        if options.samples:
            numbers = draw_random_numbers([given], len(given) + max_tokens, options)[0]
        model = self._numpy_copy and self._numpy_copy.get(check_weights=True)
        steps = _NextToken(model or self._layer_steps, given)
        search = NumpySearch(steps, options)
        for position in range(len(given), len(given) + max_tokens):
            request = {"source": np.zeros((1, 1), "int32"), "constraints": _ANY}
            if options.samples:
                request["random_numbers"] = numbers[:, position : position + 1]
            token = int(search(request)["tokens"][0, 0, 0])
            if token in self._ends:
                return
            yield token
            steps.last = token

    @functools.cached_property
    def _layer_steps(self):
        return LayerSteps(self._stepwise_model, self.jit_compile)

    def _encode(self, text, max_tokens):
        ids = self.tokenizer.encode(text)
        for part in (getattr(self.model, "embedding", None), self._stepwise_model):
            if isinstance(part, (PositionEmbeddingLayer, WithoutCache)):  # no further positions
                check_length(len(ids) + max_tokens, seq_length=part.seq_length)
        if not ids and getattr(self.model, "hide_start", False):
            raise ValueError(
                "This model has no start token: give a text of one token or more. "
                f"Received: {text!r}"
            )
        return ids

    def _continue(self, texts, max_tokens, options):
        forced = [self._encode(text, max_tokens) for text in texts]
        if any(self._ends & set(ids) for ids in forced):
            raise ValueError(
                "A text contains an end token, such as that of a chat: use `stream`. "
                f"Received: {excerpt(texts)}"
            )
        needed = max(map(len, forced)) + max_tokens
        length = within_positions(self.model, bucket_length(needed), needed)
        constraints = [make_constraints(0, len(ids) + max_tokens, length, ids) for ids in forced]
        request = {
            "source": np.zeros((len(texts), 1), "int32"),
            "constraints": np.stack(constraints),
        }
        if options.samples:
            numbers = draw_random_numbers(forced, length, options)
            request["random_numbers"] = numbers.reshape(-1, length)
        tokens = self._search(options, forced)(request)["tokens"][:, 0]
        return [self._detokenize(text, ids) for text, ids in zip(texts, tokens, strict=True)]

    def _search(self, options, forced):
        model = self._numpy_copy and self._numpy_copy.get(check_weights=True)
        if model is None:
            return self._compiled_search(options)
        if options.beam_size > 1:  # its scores count the given tokens, too
            return NumpySearch(model, options)
        return NumpySearch(_AfterPrompts(model, forced), options)

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
        end = next((i for i, token in enumerate(ids) if token in self._ends), len(ids))
        ids = ids[:end]
        unknown = [word for word, i in zip(words, ids, strict=False) if i == UNKNOWN_ID]
        return self.tokenizer.decode(ids, unknown)


class _AfterPrompts:
    """A model whose search begins behind prompts, of which it has read the common length at once.

    Args:
        model: a `NumpyLanguageModel`.
        prompts: list of the ids of each row, without the start token.
    """

    def __init__(self, model, prompts):
        self._model = model
        length = min(map(len, prompts))
        tokens = [[START_ID, *ids][:length] for ids in prompts]
        self._tokens = np.array(tokens, "int32").reshape(len(prompts), length)

    def start(self, source):
        state = self._model.start(source)
        self._model.read(self._tokens, state)
        return state

    def step(self, tokens, position, state):
        if position < self._tokens.shape[1]:  # the next token is forced
            return np.zeros_like(state.logits(len(tokens)))
        return self._model.step(tokens, position, state)


_ANY = np.full((1, 1), ANY_TOKEN, "int32")  # the constraints of one token


class _NextToken:
    """A model of one row whose search finds one token, the next of a text that grows.

    Args:
        model: a `NumpyLanguageModel`, or another model with its methods.
        prompt: ids of the text, without the start token.

    Attributes:
        last: the last token, which the next search reads.
    """

    def __init__(self, model, prompt):
        before = [START_ID, *prompt]
        self.last = before.pop()
        self._model, self._position = model, len(before)
        self._state = model.start(np.zeros((1, 1), "int32"))
        model.read(np.array([before], "int32"), self._state)

    def start(self, source):
        return self._state

    def step(self, tokens, position, state):
        logits = self._model.step(np.array([self.last]), self._position, state)
        self._position += 1
        return logits
