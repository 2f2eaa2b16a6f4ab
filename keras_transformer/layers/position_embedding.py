"""Words as vectors that know their positions."""

import math

import keras
import numpy as np
from keras import ops

from keras_transformer.layers._checks import check_sizes


def sinusoidal_encoding(length, output_dim, n=10000.0):
    """Encodes positions 0 … length - 1 as sines and cosines of growing wavelengths.

    Computed in float32 whatever the policy: in bfloat16 the angles are wrong past position 256.

    Args:
        length: integer T.
        output_dim: D, even. Entry 2i is sin(t / n^(2i/D)), entry 2i + 1 the cosine.
        n: base of the wavelengths, which grow from 2π to n·2π.

    Returns:
        float32, (T, D).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.5.
    """
    frequencies = np.float32(n) ** (-np.arange(0, output_dim, 2, dtype="float32") / output_dim)
    positions = ops.cast(ops.arange(length), "float32")
    angles = ops.expand_dims(positions, 1) * frequencies  # (T, D / 2)
    return ops.reshape(ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1), (-1, output_dim))


class _PositionEmbedding(keras.layers.Layer):
    """The sum of a vector for the word and a vector for its position."""

    def __init__(self, seq_length, vocab_size, output_dim, **kwargs):
        super().__init__(**kwargs)
        check_sizes(seq_length=seq_length, vocab_size=vocab_size, output_dim=output_dim)
        self.seq_length = seq_length
        self.vocab_size = vocab_size
        self.output_dim = output_dim

    def _embedding(self, input_dim, name, **kwargs):
        return keras.layers.Embedding(
            input_dim, self.output_dim, dtype=self.dtype_policy, name=name, **kwargs
        )

    def to_logits(self, x):
        """Scores every word by the product of its vector with `x`: the tied output layer.

        Args:
            x: (..., D).

        Returns:
            Logits, (..., V).

        References:
            "Using the Output Embedding to Improve Language Models" (Press and Wolf, 2017).
        """
        words = ops.cast(self.words.embeddings, x.dtype)
        return ops.matmul(x, ops.transpose(words))

    def get_config(self):
        sizes = {
            "seq_length": self.seq_length,
            "vocab_size": self.vocab_size,
            "output_dim": self.output_dim,
        }
        return {**super().get_config(), **sizes}

    def compute_output_shape(self, ids_shape):
        return (*ids_shape, self.output_dim)


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionEmbeddingFixedWeights(_PositionEmbedding):
    """Learned words, scaled by √D, plus fixed sinusoidal positions.

    Shape letters: B batch, T length, D = output_dim, V = vocab_size.

    Args:
        seq_length: the length to plan for. Positions are computed on demand, so longer sequences
            work as well.
        vocab_size: number of words, V.
        output_dim: size of the vectors, D, even.
        n: base of the wavelengths.
        freeze_words: fixes the words to the sinusoids of their ids as well, unscaled. Nothing is
            learned then: it is there to look at.

    Raises:
        ValueError: if a size is not a positive integer or `output_dim` is odd.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), sections 3.4 and 3.5.
    """

    def __init__(self, seq_length, vocab_size, output_dim, n=10000.0, freeze_words=False, **kwargs):
        super().__init__(seq_length, vocab_size, output_dim, **kwargs)
        if output_dim % 2:
            raise ValueError(
                "`output_dim` must be even: sines and cosines come in pairs. "
                f"Received: output_dim={output_dim}"
            )
        self.n = n
        self.freeze_words = freeze_words
        self.words = self._frozen_words() if freeze_words else self._learned_words()

    def _learned_words(self):
        # With this spread, √D makes the entries as large as those of the positions, and a tied
        # output layer begins with logits of unit variance.
        spread = keras.initializers.RandomNormal(stddev=self.output_dim**-0.5)
        return self._embedding(self.vocab_size, "words", embeddings_initializer=spread)

    def _frozen_words(self):
        def sinusoids(shape, dtype=None):
            return ops.cast(sinusoidal_encoding(*shape, self.n), dtype)

        return self._embedding(
            self.vocab_size, "words", embeddings_initializer=sinusoids, trainable=False
        )

    def build(self, ids_shape):
        self.words.build(ids_shape)
        self.built = True

    def call(self, ids):
        """Embeds.

        Args:
            ids: integer token ids, (B, T).

        Returns:
            (B, T, D).
        """
        words = self.words(ids)
        if not self.freeze_words:
            words = words * math.sqrt(self.output_dim)
        positions = sinusoidal_encoding(ops.shape(ids)[1], self.output_dim, self.n)
        return words + ops.cast(positions, words.dtype)

    def get_config(self):
        return {**super().get_config(), "n": self.n, "freeze_words": self.freeze_words}


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionEmbeddingLayer(_PositionEmbedding):
    """Learned words plus learned positions.

    Shape letters: B batch, T length, D = output_dim, V = vocab_size.

    Args:
        seq_length: number of positions; no sequence may be longer.
        vocab_size: number of words, V.
        output_dim: size of the vectors, D.

    Raises:
        ValueError: if a size is not a positive integer, or a sequence is longer than `seq_length`.

    References:
        "Convolutional Sequence to Sequence Learning" (Gehring et al., 2017), section 3.1.
    """

    def __init__(self, seq_length, vocab_size, output_dim, **kwargs):
        super().__init__(seq_length, vocab_size, output_dim, **kwargs)
        self.words = self._embedding(vocab_size, "words")
        self.positions = self._embedding(seq_length, "positions")

    def build(self, ids_shape):
        self.words.build(ids_shape)
        self.positions.build((ids_shape[1],))
        self.built = True

    def call(self, ids):
        """Embeds.

        Args:
            ids: integer token ids, (B, T), T at most `seq_length`.

        Returns:
            (B, T, D).
        """
        length = ids.shape[1]
        if length is not None and length > self.seq_length:
            raise ValueError(
                f"The sequence is longer than the {self.seq_length} learned positions: shorten it "
                f"or raise `seq_length`. Received: a length of {length}"
            )
        return self.words(ids) + self.positions(ops.arange(ops.shape(ids)[1]))
