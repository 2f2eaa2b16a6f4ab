"""Words as vectors that know their positions."""

import math

import keras
from keras import ops

from keras_transformer._utils.checks import check_even, check_length, check_positive, check_sizes
from keras_transformer._utils.deprecation import warn_deprecated
from keras_transformer.layers._position_embedding import PositionEmbedding
from keras_transformer.layers.sinusoidal_encoding import sinusoidal_encoding


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionEmbeddingFixedWeights(PositionEmbedding):
    """Learned words, scaled by √D, plus fixed sinusoidal positions.

    Shape letters: B batch, T length, D = output_dim, V = vocab_size.

    Args:
        seq_length: greatest length T, as in the course; None for any. Positions are computed on
            demand, so no weight depends on it.
        vocab_size: number of words, V.
        output_dim: size of the vectors, D, even.
        base: base of the wavelengths, as of `sinusoidal_encoding`.
        freeze_words: fixes the words to the sinusoids of their ids as well, unscaled. Nothing is
            learned then: it is there to look at.

    Raises:
        ValueError: if a size is not a positive integer, `output_dim` is odd, or a sequence is
            longer than `seq_length` (if its length is known: not inside a graph for any length).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), sections 3.4 and 3.5.
    """

    def __init__(
        self, seq_length, vocab_size, output_dim, base=10000.0, freeze_words=False, **kwargs
    ):
        if "n" in kwargs:
            warn_deprecated("The argument `n` is deprecated: use `base`.")
            base = kwargs.pop("n")
        super().__init__(seq_length, vocab_size, output_dim, **kwargs)
        check_even(output_dim=output_dim)
        check_positive(base=base)
        self.base = base
        self.freeze_words = freeze_words
        self.words = self._frozen_words() if freeze_words else self._learned_words()

    def _learned_words(self):
        # With this spread, √D makes the entries as large as those of the positions, and a tied
        # output layer begins with logits of unit variance.
        spread = keras.initializers.RandomNormal(stddev=self.output_dim**-0.5)
        return self._embedding(self.vocab_size, "words", embeddings_initializer=spread)

    def _frozen_words(self):
        def sinusoids(shape, dtype=None):
            return ops.cast(sinusoidal_encoding(*shape, self.base), dtype)

        return self._embedding(
            self.vocab_size, "words", embeddings_initializer=sinusoids, trainable=False
        )

    def build(self, ids_shape):
        self.words.build(ids_shape)
        self.built = True

    def call(self, ids, start=0):
        """(B, T) integer token ids, the first at position `start`, also (B, 1), -> (B, T, D)."""
        check_length(ids.shape[1], seq_length=self.seq_length)
        words = self.words(ids)
        if not self.freeze_words:
            words = words * math.sqrt(self.output_dim)
        positions = sinusoidal_encoding(ops.shape(ids)[1], self.output_dim, self.base, start)
        return words + ops.cast(positions, words.dtype)

    def get_config(self):
        return {**super().get_config(), "base": self.base, "freeze_words": self.freeze_words}

    @classmethod
    def from_config(cls, config):
        if "n" in config:  # of version 0.1.0
            config = {**config, "base": config["n"]}
            del config["n"]
        return super().from_config(config)


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionEmbeddingLayer(PositionEmbedding):
    """Learned words plus learned positions.

    Shape letters: B batch, T length, D = output_dim, V = vocab_size.

    Args:
        seq_length: number of positions; no sequence may be longer.
        vocab_size: number of words, V.
        output_dim: size of the vectors, D.

    Raises:
        ValueError: if a size is not a positive integer, or a sequence is longer than `seq_length`
            (if its length is known: not inside a graph for any length).

    References:
        "Convolutional Sequence to Sequence Learning" (Gehring et al., 2017), section 3.1.
    """

    def __init__(self, seq_length, vocab_size, output_dim, **kwargs):
        super().__init__(seq_length, vocab_size, output_dim, **kwargs)
        check_sizes(seq_length=seq_length)
        self.words = self._embedding(vocab_size, "words")
        self.positions = self._embedding(seq_length, "positions")

    def build(self, ids_shape):
        self.words.build(ids_shape)
        self.positions.build((ids_shape[1],))
        self.built = True

    def call(self, ids, start=0):
        """(B, T) integer token ids, the first of them at position `start` -> (B, T, D)."""
        if ids.shape[1] is not None and isinstance(start, int):
            check_length(start + ids.shape[1], seq_length=self.seq_length)
        return self.words(ids) + self.positions(start + ops.arange(ops.shape(ids)[1]))
