"""Several translators that translate together."""

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import Tensor
from keras_transformer.models._translator import Translator
from keras_transformer.models.language_model import TransformerLanguageModel
from keras_transformer.models.numpy_transformer import (
    NumpyLanguageModel,
    NumpyTransformer,
    softmax,
    supports_numpy,
)


class Ensemble(Translator):
    """Translators of the same vocabularies whose probabilities are averaged at each step.

    It has the methods of a translator, so every search takes it. Its logits are the logarithms of
    the mean probabilities, (B, T, V) in float32; its attention weights those of the first model.

    Args:
        models: list of at least two built translators.

    Raises:
        ValueError: if there are fewer, or their vocabularies have different sizes.

    References:
        "Sequence to Sequence Learning with Neural Networks" (Sutskever et al., 2014), section 3.6.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=8, d_ff=16)
        >>> models = [kt.TransformerModel(9, 9, settings=settings) for _ in range(2)]
        >>> ids = np.array([[5, 3]])
        >>> logits = [model((ids, ids)) for model in models]
        >>> mean = (ops.softmax(logits[0]) + ops.softmax(logits[1])) / 2
        >>> np.allclose(ops.softmax(kt.Ensemble(models)((ids, ids))), mean, atol=1e-6)
        True
    """

    def __init__(self, models: list[Translator], **kwargs: Any) -> None:
        super().__init__(dtype="float32", **kwargs)
        sizes = {(model.enc_vocab_size, model.dec_vocab_size) for model in models}
        if len(models) < 2 or len(sizes) > 1:
            raise ValueError(
                "An ensemble has two or more models with vocabularies of the same sizes. Received: "
                f"{len(models)} models, sizes {excerpt(sorted(sizes))}"
            )
        self.models = tuple(models)
        [(self.enc_vocab_size, self.dec_vocab_size)] = sizes
        self.enc_seq_length, self.dec_seq_length = (
            min((x for model in models if (x := getattr(model, name, None))), default=None)
            for name in ("enc_seq_length", "dec_seq_length")
        )
        self.built = True

    def encode(self, encoder_input: Tensor, training: bool | None = None) -> Any:
        """Returns a tuple with the encoder output of each model."""
        return tuple(model.encode(encoder_input, training=training) for model in self.models)

    def decode(
        self,
        decoder_input: Tensor,
        encoder_output: Any,
        encoder_input: Tensor,
        training: bool | None = None,
    ) -> Tensor:
        """Computes the logits at every position, (B, T, V); see `TransformerModel.decode`."""
        outputs = zip(self.models, encoder_output, strict=True)
        return _log_mean(
            [model.decode(decoder_input, x, encoder_input, training) for model, x in outputs]
        )

    def start(self, encoder_input: Tensor, length: int, copies: int = 1) -> tuple[Any, Any]:
        """Returns the caches and the memories of the models; see `TransformerModel.start`."""
        started = [model.start(encoder_input, length, copies) for model in self.models]
        caches, memories = zip(*started, strict=True)
        return caches, memories

    def step(
        self, tokens: Tensor, position: Tensor | int, cache: Any, memory: Any
    ) -> tuple[Tensor, Any]:
        """Computes the logits of the next token; see `TransformerModel.step`."""
        states = zip(self.models, cache, memory, strict=True)
        logits, caches = zip(*(m.step(tokens, position, *x) for m, *x in states), strict=True)
        return _log_mean(logits), caches

    def attention_weights(
        self, encoder_input: Tensor, decoder_input: Tensor
    ) -> dict[str, list[Tensor]]:
        """Computes the attention weights of the first model."""
        return self.models[0].attention_weights(encoder_input, decoder_input)


def _log_mean(logits):
    logs = [ops.log_softmax(ops.cast(x, "float32")) for x in logits]
    return ops.logsumexp(ops.stack(logs), axis=0) - math.log(len(logs))


def supports_numpy_search(model: keras.Model) -> bool:
    """Returns whether `numpy_model` computes a model, or all models of an ensemble."""
    models = model.models if type(model) is Ensemble else [model]
    return all(map(supports_numpy, models))


def numpy_model(model: keras.Model) -> Any:
    """Copies a model, or the models of an ensemble, to NumPy."""
    if type(model) is TransformerLanguageModel:
        return NumpyLanguageModel(model)
    return _NumpyEnsemble(model.models) if type(model) is Ensemble else NumpyTransformer(model)


class _NumpyEnsemble:
    """The inference of an `Ensemble` in NumPy, with the methods of `NumpyTransformer`."""

    def __init__(self, models):
        self._models = list(map(NumpyTransformer, models))

    def start(self, source):
        return _States([model.start(source) for model in self._models])

    def step(self, tokens, position, state):
        pairs = zip(self._models, state.states, strict=True)
        probabilities = [softmax(model.step(tokens, position, x)) for model, x in pairs]
        return np.log(np.mean(probabilities, axis=0))


class _States:
    def __init__(self, states):
        self.states = states

    def select(self, rows, sentences=None):
        for state in self.states:
            state.select(rows, sentences)
