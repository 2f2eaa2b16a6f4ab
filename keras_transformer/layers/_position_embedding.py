"""What the position embeddings have in common."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_sizes, given


class PositionEmbedding(keras.layers.Layer):
    """The sum of a vector for the word and a vector for its position."""

    def __init__(self, seq_length, vocab_size, output_dim, **kwargs):
        super().__init__(**kwargs)
        check_sizes(vocab_size=vocab_size, output_dim=output_dim)
        check_sizes(**given(seq_length=seq_length))
        self.seq_length = seq_length
        self.vocab_size = vocab_size
        self.output_dim = output_dim

    def _embedding(self, input_dim, name, **kwargs):
        return keras.layers.Embedding(
            input_dim, self.output_dim, dtype=self.dtype_policy, name=name, **kwargs
        )

    def to_logits(self, x, words=None):
        """Scores every word by the product of its vector with `x`: the tied output layer.

        Args:
            x: (..., D).
            words: the words' vectors (V, D), if they have been read before. A loop should: in its
                graphs, TensorFlow copies a variable that is looked up in whenever it is read.

        Returns:
            Logits, (..., V).

        References:
            "Using the Output Embedding to Improve Language Models" (Press and Wolf, 2017).
        """
        words = self.vectors(x.dtype) if words is None else words
        return ops.matmul(x, ops.transpose(words))

    def vectors(self, dtype):
        """The vectors of all words as a tensor, (V, D)."""
        return ops.cast(self.words.embeddings, dtype)

    def get_config(self):
        sizes = {
            "seq_length": self.seq_length,
            "vocab_size": self.vocab_size,
            "output_dim": self.output_dim,
        }
        return {**super().get_config(), **sizes}

    def compute_output_shape(self, ids_shape):
        return (*ids_shape, self.output_dim)
