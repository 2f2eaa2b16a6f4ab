"""Searches and attention weights of a model as Keras models, to be compiled."""

import re
import warnings

import keras
import numpy as np
from keras import ops

from keras_transformer.backends import backend_module
from keras_transformer.inference.beam import beam_search
from keras_transformer.inference.rules import Rules
from keras_transformer.inference.search import greedy_search, sample
from keras_transformer.layers._parts import changed_part, walk
from keras_transformer.models._translator import Translator

_TOLERANCE = 1e-3  # of logits; rounding is a hundred times smaller in float32
_HALF_TOLERANCE = 0.1


class _Wrapper(keras.Model):
    """Base class of the models that compute with another one and have no variables of their own."""

    def __init__(self, model):
        super().__init__(dtype=model.dtype_policy)
        self.model = model
        self.built = True

    def logits(self, source, target):
        """Calls the model, with the source if it has one."""
        inputs = (source, target) if isinstance(self.model, Translator) else target
        return self.model(inputs, training=False)


class ModelSearch(_Wrapper):
    """A search from source ids to target ids, as a Keras model that every backend can compile.

    Shape letters: B sentences, S source length, L maximum length, n translations per sentence.

    Args:
        model: a model with the methods `start` and `step` of `TransformerModel`.
        options: the `SearchOptions`.
        with_forced: whether the constraints may force tokens.
        with_scores: whether to return the scores.
    """

    def __init__(self, model, options, with_forced=False, with_scores=False):
        super().__init__(model)
        self.options = options
        self.with_forced = with_forced
        self.with_scores = with_scores

    def call(self, request):
        """Runs the search.

        Args:
            request: dictionary of
                "source": int32 (B, S), padded source ids with their end token;
                "constraints": int32 (B, L), see `make_constraints`;
                "random_numbers": float32 (B * n, L), for sampling only, see `sample`;
                "banned": int32 (B, M, m), see `pad_banned`, if any sequence is banned.

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
            request.get("banned"),
        )
        if options.beam_size > 1:
            return beam_search(tokens_to_logits, cache, rules, options)
        if not options.samples:
            return greedy_search(tokens_to_logits, cache, rules, self.with_scores)
        rules = rules.repeat(options.n_best)
        result = sample(tokens_to_logits, cache, rules, request["random_numbers"], options)
        return result.group_rows(options.n_best)


class AttentionScores(_Wrapper):
    """The attention weights of a model for given translations, as a Keras model.

    They are computed in a second pass over all positions at once and equal those of the search
    steps, so the search does not have to store them.

    Args:
        model: a model with the method `attention_weights` of `Translator`.
    """

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


def stepwise(model):
    """Returns the model to search with: one whose steps compute the same as its call.

    Warns if a part of the model is not the library's own, because its search is then slower.

    Args:
        model: a translator or a language model.

    Returns:
        The model; or a `WithoutCache`, if its steps compute something else than its call.
    """
    changed = changed_part(model)
    if changed is None:
        return model
    problem = _problem_of_steps(model)
    cache = f", and without a cache, because {problem}" if problem else ""
    warnings.warn(
        f"Decoding with the layers of the model{cache}. This is slower than decoding an unchanged "
        f"model; here {changed}.",
        stacklevel=2,
    )
    return WithoutCache(model) if problem else model


def _problem_of_steps(model):
    """Describes why the steps of a model are not known to equal its call; None if they are."""
    if type(model).call is keras.Model.call:  # it has steps only
        return None
    decoder = getattr(model, "decoder", None) or getattr(model, "encoder", None)
    for layer in (model, *(() if decoder is None else walk(decoder))):
        if any(_overrides(type(layer), name, "step") for name in ("call", "decode")):
            return f"{type(layer).__name__} has a `call` of its own, but not a `step`"
    request = probe(model)
    expected = forward(model, request)
    try:
        steps = backend_module().compile_inference(_Steps(model, expected.shape[2]), None)
        found = steps(request)
    except Exception as error:  # whatever the code of a user raises
        # Without the colors and the list of arguments that Keras adds.
        text = re.sub(r"\x1b\[\d+m|Exception encountered when calling .*\n|\n", "", str(error))
        return f"a step raises {type(error).__name__}: {text.partition('Arguments received')[0]}"
    if is_close(model, found, expected):
        return None
    return f"the logits of steps and call differ by {np.abs(found - expected).max():.2g}"


def _overrides(cls, method, inherited):
    """Returns whether a class has a method of its own, or of a base, that follows the other."""
    owners = [
        next((i for i, base in enumerate(cls.__mro__) if name in vars(base)), None)
        for name in (method, inherited)
    ]
    return None not in owners and owners[0] < owners[1]


def within_positions(model, length, needed):
    """Returns a length that is enough, but no more than the positions of a model if they are.

    Args:
        model: a language model.
        length: rounded up from `needed`.
        needed: number of tokens.
    """
    return max(needed, min(length, getattr(model, "seq_length", None) or length))


def probe(model):
    """Returns token ids that show differences of distant tokens and of padding.

    Returns:
        A dictionary of "source" and "target", int32 arrays of two rows.
    """
    size, random = getattr(model, "vocab_size", None), np.random.default_rng(0)
    limit = getattr(model, "seq_length", None)
    limits = (getattr(model, f"{x}_seq_length", limit) for x in ("enc", "dec"))
    sizes = (getattr(model, f"{x}_vocab_size", size) for x in ("enc", "dec"))
    source, target = (
        random.integers(1, size, (2, min(length, limit or length)), "int32")
        for size, limit, length in zip(sizes, limits, (24, 12), strict=True)
    )
    source[1, 9:] = 0
    return {"source": source, "target": target}


def forward(model, request):
    """Computes the logits, (2, T, V), of the ids of `probe` in one call."""
    return backend_module().compile_inference(_ForwardPass(model), jit_compile=None)(request)


def is_close(model, logits, expected):
    """Returns whether logits are equal except for rounding."""
    exact = model.compute_dtype in ("float32", "float64")
    tolerance = _TOLERANCE if exact else _HALF_TOLERANCE
    return np.abs(logits - expected).max() <= tolerance * max(1, np.abs(expected).max())


class _ForwardPass(_Wrapper):
    def call(self, request):
        return ops.cast(self.logits(request["source"], request["target"]), "float32")


class _Steps(_Wrapper):
    def __init__(self, model, vocab_size):
        super().__init__(model)
        self.vocab_size = vocab_size

    def call(self, request):
        target, length = request["target"], request["target"].shape[1]
        cache, memory = self.model.start(request["source"], length)

        def step(position, state):
            cache, logits = state
            tokens = ops.take(target, position, axis=1)
            row, cache = self.model.step(tokens, position, cache, memory)
            row = ops.expand_dims(ops.cast(row, "float32"), 1)
            return cache, ops.slice_update(logits, (0, position, 0), row)

        logits = ops.zeros((target.shape[0], length, self.vocab_size))
        return ops.fori_loop(0, length, step, (cache, logits))[1]


class WithoutCache(_Wrapper):
    """Decodes step by step with a model whose parts have no steps: calls it anew in each step.

    Args:
        model: a translator or a language model.
    """

    @property
    def seq_length(self):
        """The number of positions of a language model; None for no limit."""
        return getattr(self.model, "seq_length", None)

    def start(self, source, length, copies=1):
        """Returns the tokens so far, (R, L), and the source of each row."""
        source = ops.repeat(source, copies, axis=0)
        return ops.zeros((ops.shape(source)[0], length), "int32"), source

    def step(self, tokens, position, cache, memory):
        """Returns the logits of the next token, (R, V), and the tokens so far."""
        cache = ops.slice_update(cache, (0, position), ops.expand_dims(tokens, 1))
        return ops.take(self.logits(memory, cache), position, axis=1), cache
