"""Embeddings of tokens and their positions."""

import math
from typing import Any, Self

import keras
from keras import ops

from keras_transformer._utils.checks import (
    check_axes,
    check_even,
    check_length,
    check_positive,
    check_sizes,
    given,
)
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import build_part
from keras_transformer.layers._position_embedding import PositionEmbedding
from keras_transformer.layers.sinusoidal_encoding import sinusoidal_encoding
from keras_transformer.settings import BlockSettings


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionEmbeddingFixedWeights(PositionEmbedding):
    """Learned token embeddings plus fixed sinusoidal position encodings.

    The token embeddings are multiplied by √D, unless `scale` is False.

    Shape letters: B batch, T length, D = output_dim, V = vocab_size.

    Args:
        seq_length: maximum length T; None for no limit. No weight depends on it, because positions
            are computed on demand.
        vocab_size: size of the vocabulary, V.
        output_dim: size of the embeddings, D, even.
        base: base of the wavelengths, see `sinusoidal_encoding`. With None, no encodings are added,
            for models whose attention knows the positions (see `rotary_embedding`).
        scale: whether to multiply the token embeddings by √D.
        freeze_words: whether to replace the token embeddings by the unscaled sinusoidal encodings
            of the ids. The layer is then not trainable; it is meant for visualization.

    Raises:
        ValueError: if a size is not a positive integer, `output_dim` is odd, `freeze_words` is set
            without a base, or a sequence is longer than `seq_length` (not checked inside a graph of
            unknown length).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), sections 3.4 and 3.5.

    Example:
        >>> embedding = kt.PositionEmbeddingFixedWeights(None, vocab_size=100, output_dim=8)
        >>> x = embedding(np.array([[5, 7, 3]]))
        >>> ops.shape(x), ops.shape(embedding.to_logits(x))
        ((1, 3, 8), (1, 3, 100))
    """

    def __init__(
        self,
        seq_length: int | None,
        vocab_size: int,
        output_dim: int,
        base: float | None = 10000.0,
        freeze_words: bool = False,
        scale: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(seq_length, vocab_size, output_dim, **kwargs)
        check_even(output_dim=output_dim)
        check_positive(**given(base=base))
        if freeze_words and base is None:
            raise ValueError("`freeze_words` needs a base. Received: base=None")
        self.base = base
        self.freeze_words = freeze_words
        self._scale = scale
        self.words = self._frozen_embedding() if freeze_words else self._learned_embedding()

    @classmethod
    def from_settings(
        cls, settings: BlockSettings, seq_length: int | None, vocab_size: int, **kwargs: Any
    ) -> Self:
        """Creates the layer from `BlockSettings`; without encodings if attention has positions."""
        if not settings.has_encodings:
            kwargs["base"] = None
        return cls(seq_length, vocab_size, settings.d_model, **kwargs)

    def _learned_embedding(self):
        # With this standard deviation, the embeddings multiplied by √D are as large as the position
        # encodings, and the initial logits of a tied output layer have unit variance.
        initializer = keras.initializers.RandomNormal(stddev=self.output_dim**-0.5)
        return self._embedding_layer(self.vocab_size, "words", embeddings_initializer=initializer)

    def _frozen_embedding(self):
        def sinusoids(shape, dtype=None):
            return ops.cast(sinusoidal_encoding(*shape, self.base), dtype)

        return self._embedding_layer(
            self.vocab_size, "words", embeddings_initializer=sinusoids, trainable=False
        )

    def build(self, ids_shape: Shape) -> None:
        check_axes(2, "(B, T)", ids=ids_shape)
        build_part(self.words, ids_shape, dtype="int32")
        self.built = True

    def call(self, ids: Tensor, start: Tensor | int = 0, reverse: bool = False) -> Tensor:
        """Embeds tokens and their positions.

        Args:
            ids: integer token ids, (B, T).
            start: position of the first token, an integer or an int32 scalar; or int32, (B, 1), one
                per sequence.
            reverse: whether `ids` are hidden states, and the result is that of `to_logits`.

        Returns:
            (B, T, D).
        """
        if reverse:
            return self.to_logits(ids)
        check_axes(2, "(B, T)", ids=ids)
        check_length(ids.shape[1], seq_length=self.seq_length)
        words = self.words(ids)
        if self._scale and not self.freeze_words:
            words = words * math.sqrt(self.output_dim)
        if self.base is None:
            return words
        positions = sinusoidal_encoding(ops.shape(ids)[1], self.output_dim, self.base, start)
        return words + ops.cast(positions, words.dtype)

    def get_config(self) -> dict[str, Any]:
        options = {"base": self.base, "freeze_words": self.freeze_words, "scale": self._scale}
        return {**super().get_config(), **options}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        if "n" in config:  # saved by version 0.1.0
            config = {**config, "base": config["n"]}
            del config["n"]
        return super().from_config(config)


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionEmbeddingLayer(PositionEmbedding):
    """Learned token embeddings plus learned position embeddings.

    Shape letters: B batch, T length, D = output_dim, V = vocab_size.

    Args:
        seq_length: maximum length T, the number of positions.
        vocab_size: size of the vocabulary, V.
        output_dim: size of the embeddings, D.

    Raises:
        ValueError: if a size is not a positive integer, or a sequence is longer than `seq_length`
            (not checked inside a graph of unknown length).

    References:
        "Convolutional Sequence to Sequence Learning" (Gehring et al., 2017), section 3.1.

    Example:
        >>> embedding = kt.PositionEmbeddingLayer(10, vocab_size=100, output_dim=8)
        >>> ops.shape(embedding(np.array([[5, 7, 3]])))
        (1, 3, 8)
    """

    def __init__(
        self, seq_length: int | None, vocab_size: int, output_dim: int, **kwargs: Any
    ) -> None:
        super().__init__(seq_length, vocab_size, output_dim, **kwargs)
        check_sizes(seq_length=seq_length)
        self.words = self._embedding_layer(vocab_size, "words")
        self.positions = self._embedding_layer(seq_length, "positions")

    def build(self, ids_shape: Shape) -> None:
        check_axes(2, "(B, T)", ids=ids_shape)
        build_part(self.words, ids_shape, dtype="int32")
        build_part(self.positions, (None,), dtype="int32")  # of any length
        self.built = True

    def call(self, ids: Tensor, start: Tensor | int = 0, reverse: bool = False) -> Tensor:
        """Embeds tokens and their positions.

        Args:
            ids: integer token ids, (B, T).
            start: position of the first token, an integer or an int32 scalar.
            reverse: whether `ids` are hidden states, and the result is that of `to_logits`.

        Returns:
            (B, T, D).
        """
        if reverse:
            return self.to_logits(ids)
        check_axes(2, "(B, T)", ids=ids)
        if ids.shape[1] is not None and isinstance(start, int):
            check_length(start + ids.shape[1], seq_length=self.seq_length)
        return self.words(ids) + self.positions(start + ops.arange(ops.shape(ids)[1]))
