"""Language models, recurrent and Transformer."""

from collections.abc import Mapping
from typing import Any, Self

import keras
from keras import ops

from keras_transformer._utils.checks import (
    check_axes,
    check_length,
    check_optional_size,
    check_rate,
    check_sizes,
)
from keras_transformer._utils.special_tokens import PADDING_ID, START_ID
from keras_transformer._utils.types import PathLike, Shape, Tensor
from keras_transformer.layers._parts import SOME_TOKENS, build_further_layers, build_part
from keras_transformer.layers._settings_mixin import SettingsMixin
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.position_embedding import PositionEmbeddingFixedWeights
from keras_transformer.masks import causal_mask, combine_masks, distances
from keras_transformer.models._token_model import TokenModel
from keras_transformer.pretrained.llama import llama_arguments, load_llama, read_checkpoint
from keras_transformer.settings import BlockSettings, names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class LSTMLanguageModel(TokenModel):
    """A language model of stacked LSTMs.

    It is called on token ids, padded with 0 on the left or the right, and returns the logits of the
    next token at every position. `Generate` uses its methods `start` and `step`, whose cache is the
    state of the LSTMs.

    Shape letters: B batch, T length, V vocabulary, R rows.

    Args:
        vocab_size: size of the vocabulary, V.
        d_model: size of the embeddings.
        units: size of each LSTM.
        n: number of LSTM layers.
        rate: dropout rate of the input of each LSTM and of the output of the last one.

    Raises:
        ValueError: if a size is not a positive integer or `rate` is not in [0, 1).

    References:
        "Recurrent Neural Network Regularization" (Zaremba et al., 2014), section 3.

    Example:
        >>> model = kt.LSTMLanguageModel(vocab_size=100, d_model=16, units=32, n=2, rate=0.1)
        >>> ops.shape(model(np.array([[2, 5, 7, 9]])))  # (B, T, V)
        (1, 4, 100)
    """

    @names_ours
    def __init__(
        self, vocab_size: int, d_model: int, units: int, n: int, rate: float, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        sizes = check_sizes(vocab_size=vocab_size, d_model=d_model, units=units, n=n)
        self.vocab_size, self.d_model, self.units, self.n = sizes
        check_rate(rate=rate)
        self.input_spec = keras.layers.InputSpec(ndim=2)
        self.rate = rate
        dtype = self.dtype_policy
        self.embedding = keras.layers.Embedding(
            self.vocab_size, self.d_model, dtype=dtype, name="embedding"
        )
        self.lstms = [
            keras.layers.LSTM(self.units, return_sequences=True, dtype=dtype, name=f"lstm_{i}")
            for i in range(self.n)
        ]
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")
        self.projection = keras.layers.Dense(self.vocab_size, dtype=dtype, name="projection")

    def build(self, input_shape: Any) -> None:
        self.embedding.build(input_shape)
        for i, lstm in enumerate(self.lstms):
            lstm.build((*input_shape, self.units if i else self.d_model))
        self.dropout.build((*input_shape, self.units))
        self.projection.build((*input_shape, self.units))
        self.built = True
        build_further_layers(self, SOME_TOKENS)

    def call(self, tokens: Tensor, training: bool | None = None) -> Tensor:
        """Computes the logits of the next token at every position.

        Args:
            tokens: integer token ids, (B, T), padded with 0.
            training: whether dropout is active.

        Returns:
            Logits, (B, T, V).
        """
        x, mask = self.embedding(tokens), ops.not_equal(tokens, PADDING_ID)
        for lstm in self.lstms:
            x = lstm(self.dropout(x, training=training), mask=mask, training=training)
        return self.projection(self.dropout(x, training=training))

    def start(self, source: Tensor, length: int, copies: int = 1) -> tuple[Any, Any]:
        """Returns `(cache, memory)`; see `TransformerLanguageModel.start`.

        The cache is two tensors (R, units) per LSTM, whose size does not depend on `length`; the
        memory is an empty tuple.
        """
        rows = ops.shape(source)[0] * copies
        zeros = [ops.zeros((rows, self.units), self.compute_dtype) for _ in range(2 * self.n)]
        return tuple(zip(zeros[::2], zeros[1::2], strict=True)), ()

    def step(
        self, tokens: Tensor, position: Tensor | int, cache: Any, memory: Any
    ) -> tuple[Tensor, Any]:
        """Computes logits, (R, V), and the cache; see `TransformerLanguageModel.step`."""
        x, new_cache = self.embedding(tokens), []
        for lstm, states in zip(self.lstms, cache, strict=True):
            x, states = lstm.cell(x, list(states), training=False)
            new_cache.append(tuple(states))
        return self.projection(x), tuple(new_cache)

    def get_config(self) -> dict[str, Any]:
        sizes = {"vocab_size": self.vocab_size, "d_model": self.d_model, "units": self.units}
        return {**super().get_config(), **sizes, "n": self.n, "rate": self.rate}

    def compute_output_shape(self, input_shape: Any) -> Shape:
        return (*input_shape, self.vocab_size)


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerLanguageModel(SettingsMixin, TokenModel):
    """A decoder-only Transformer language model.

    It is built from encoder layers with a causal mask, which equal decoder layers without
    cross-attention. It has the interface of `LSTMLanguageModel`; its cache is a KV cache.

    Shape letters: B batch, T length, L cache length, V vocabulary, R rows.

    Args:
        vocab_size: size of the vocabulary, V.
        seq_length: maximum length T of `call`; None for no limit.
        settings: `BlockSettings` of the layers; `d_model` is even.
        tie_output: whether the output projection uses the embeddings as its weights.
        scale_embeddings: whether the embeddings are multiplied by √`d_model`.
        hide_start: whether the start token is hidden like padding, because the model was trained
            without one or the text contains it.

    Raises:
        ValueError: if a size is not a positive integer, `d_model` is odd, or a text is longer than
            `seq_length`.

    References:
        "Generating Wikipedia by Summarizing Long Sequences" (Liu et al., 2018), section 4.2.3.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=1)
        >>> model = kt.TransformerLanguageModel(vocab_size=100, settings=settings)
        >>> tokens = np.array([[2, 5, 7, 9]])
        >>> logits = model(tokens)
        >>> ops.shape(logits)  # (B, T, V)
        (1, 4, 100)
        >>> padded = model(np.array([[0, 0, 2, 5, 7, 9]]))  # padding on the left changes nothing
        >>> bool(ops.all(ops.isclose(padded[:, 2:], logits, atol=1e-5)))
        True
    """

    default_settings: Mapping[str, Any] = {**SettingsMixin.default_settings, "norm_first": True}

    @names_ours
    def __init__(
        self,
        vocab_size: int,
        seq_length: int | None = None,
        settings: BlockSettings | None = None,
        tie_output: bool = True,
        scale_embeddings: bool = True,
        hide_start: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(settings, **kwargs)
        [self.vocab_size] = check_sizes(vocab_size=vocab_size)
        self.seq_length = check_optional_size(seq_length=seq_length)
        self.tie_output = tie_output
        self.scale_embeddings = scale_embeddings
        self.hide_start = hide_start
        settings, dtype = self.settings, self.dtype_policy
        self.embedding = PositionEmbeddingFixedWeights.from_settings(
            settings,
            seq_length,
            self.vocab_size,
            scale=scale_embeddings,
            dtype=dtype,
            name="embedding",
        )
        self.encoder = Encoder(settings=settings.causal(), dtype=dtype, name="encoder")
        self.projection = (
            None
            if tie_output
            else keras.layers.Dense(
                self.vocab_size, use_bias=settings.use_bias, dtype=dtype, name="projection"
            )
        )

    @classmethod
    def from_pretrained(cls, folder: PathLike, dtype: Any = None) -> Self:
        """Loads a language model of the Llama family with published weights.

        These are Llama, SmolLM2, Mistral, Qwen2 and Qwen3, as far as they differ by their settings
        alone. The ids of the tokens are those of `PublishedTokenizer`.

        Args:
            folder: path of a folder in the Hugging Face layout, with `config.json` and
                `model.safetensors`, or the files of weights that `model.safetensors.index.json`
                lists.
            dtype: dtype policy of the model, such as "bfloat16", which halves the memory; None for
                Keras's global policy.

        Returns:
            A built `TransformerLanguageModel`.

        Raises:
            FileNotFoundError: if a file is missing.
            ValueError: if a file is damaged, `config.json` has a field or a value that is not
                supported, or a weight is missing, unexpected or has the wrong shape.

        Example:
            model = kt.TransformerLanguageModel.from_pretrained("SmolLM2-135M")
            generate = kt.Generate(model, kt.PublishedTokenizer.load("SmolLM2-135M"))
        """
        checkpoint = read_checkpoint(folder)
        model = cls(**llama_arguments(checkpoint), dtype=dtype)
        model.build((None, None))
        load_llama(checkpoint, model)
        return model

    def build(self, input_shape: Any) -> None:
        build_part(self.embedding, input_shape, dtype="int32")
        shape = (*input_shape, self.settings.d_model)
        build_part(self.encoder, shape)
        if self.projection is not None:
            build_part(self.projection, shape)
        self.built = True
        build_further_layers(self, SOME_TOKENS)

    def call(self, tokens: Tensor, training: bool | None = None) -> Tensor:
        """Computes the logits of the next token at every position.

        Args:
            tokens: integer token ids, (B, T), padded with 0.
            training: whether dropout is active.

        Returns:
            Logits, (B, T, V).
        """
        check_axes(2, "(B, T)", tokens=tokens)
        check_length(tokens.shape[1], seq_length=self.seq_length)
        not_padding = ops.cast(ops.not_equal(tokens, PADDING_ID), "int32")
        # Padding on the left does not count: the first token has position 0.
        left_padding = ops.expand_dims(ops.argmax(not_padding, axis=1), 1)
        x = self.embedding(tokens, start=-ops.cast(left_padding, "int32"))
        causal = causal_mask(ops.shape(tokens)[1])
        mask = combine_masks(ops.expand_dims(self._is_visible(tokens), 1), causal)
        return self._to_logits(self.encoder(x, attention_mask=mask, training=training))

    def _is_visible(self, tokens):
        visible = ops.not_equal(tokens, PADDING_ID)
        if self.hide_start:
            visible = ops.logical_and(visible, ops.not_equal(tokens, START_ID))
        return visible

    def _to_logits(self, x, embeddings=None):
        tied = self.projection is None
        return self.embedding.to_logits(x, embeddings) if tied else self.projection(x)

    def start(self, source: Tensor, length: int, copies: int = 1) -> tuple[Any, Any]:
        """Allocates the KV cache for generating step by step.

        Args:
            source: array whose first axis is the batch, B; its values are ignored.
            length: maximum number of steps, L.
            copies: number of rows per text; R = B · copies.

        Returns:
            `(cache, memory)`: the empty KV cache, and the embeddings (V, D) if the output is tied,
            else an empty tuple.
        """
        rows = ops.shape(source)[0] * copies
        seen = ops.zeros((rows, length), "bool")
        memory = self.embedding.vectors(self.compute_dtype) if self.projection is None else ()
        return {"layers": self.encoder.start(rows, length), "seen": seen}, memory

    def step(
        self, tokens: Tensor, position: Tensor | int, cache: Any, memory: Any
    ) -> tuple[Tensor, Any]:
        """Computes the logits of the next token from one token and the KV cache.

        Args:
            tokens: token ids at this position, int32, (R,).
            position: int32 scalar.
            cache: the cache returned by the previous step, or by `start` at position 0.
            memory: the memory returned by `start`.

        Returns:
            `(logits, cache)`: logits, (R, V), and the updated cache.
        """
        return self.read(ops.expand_dims(tokens, 1), position, cache, memory)

    def read(
        self, tokens: Tensor, position: Tensor | int, cache: Any, memory: Any
    ) -> tuple[Tensor, Any]:
        """Computes the logits of the next token from several tokens at once, such as a prompt.

        Args:
            tokens: token ids at this position and the following ones, int32, (R, T).
            position: int32 scalar, that of the first token.
            cache, memory: see `step`.

        Returns:
            `(logits, cache)`: logits, (R, V), after the last token, and the updated cache.
        """
        seen = ops.slice_update(cache["seen"], (0, position), self._is_visible(tokens))
        mask = ops.expand_dims(seen, 1)
        if tokens.shape[1] != 1:  # what follows a single token is not seen yet
            offsets = distances(ops.shape(tokens)[1], ops.shape(seen)[1], position)
            mask = ops.logical_and(mask, offsets <= 0)  # (R, T, L)
        x = self.embedding(tokens, start=position)
        x, layers = self.encoder.step(x, position, cache["layers"], mask)
        return self._to_logits(x[:, -1], memory), {"layers": layers, "seen": seen}

    def get_config(self) -> dict[str, Any]:
        arguments = {
            "vocab_size": self.vocab_size,
            "seq_length": self.seq_length,
            "tie_output": self.tie_output,
            "scale_embeddings": self.scale_embeddings,
            "hide_start": self.hide_start,
        }
        return {**super().get_config(), **arguments}

    def compute_output_shape(self, input_shape: Any) -> Shape:
        return (*input_shape, self.vocab_size)
