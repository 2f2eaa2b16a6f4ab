"""Base class of the embeddings of tokens and positions."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_optional_size, check_sizes
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import PartsMixin


class PositionEmbedding(PartsMixin, keras.layers.Layer):
    """Base class of the layers that add token embeddings and position embeddings."""

    def __init__(
        self, seq_length: int | None, vocab_size: int, output_dim: int, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.vocab_size, self.output_dim = check_sizes(vocab_size=vocab_size, output_dim=output_dim)
        self.seq_length = check_optional_size(seq_length=seq_length)

    def _embedding_layer(self, input_dim, name, **kwargs):
        return keras.layers.Embedding(
            int(input_dim), self.output_dim, dtype=self.dtype_policy, name=name, **kwargs
        )

    def to_logits(self, x: Tensor, words: Tensor | None = None) -> Tensor:
        """Computes logits from the token embeddings, as a tied output layer does.

        Args:
            x: hidden states, (..., D).
            words: the result of `vectors`, (V, D); read from the weights if None. Pass it in a
                decoding loop: inside a graph, TensorFlow copies an embedding variable each time it
                is read.

        Returns:
            Logits, (..., V): the product of `x` with each token embedding.

        References:
            "Using the Output Embedding to Improve Language Models" (Press and Wolf, 2017).
        """
        if words is None and isinstance(x, keras.KerasTensor):
            # A functional model knows the weights of its layers, not those of its operations.
            return self(x, reverse=True)
        words = self.vectors(x.dtype) if words is None else words
        return ops.matmul(x, ops.transpose(words))

    def vectors(self, dtype: Any) -> Tensor:
        """Returns the token embeddings as a tensor.

        Args:
            dtype: dtype of the result.

        Returns:
            (V, D).
        """
        return ops.cast(self.words.embeddings, dtype)

    def get_config(self) -> dict[str, Any]:
        sizes = {
            "seq_length": self.seq_length,
            "vocab_size": self.vocab_size,
            "output_dim": self.output_dim,
        }
        return {**super().get_config(), **sizes}

    def compute_output_spec(
        self, ids: Tensor, *args: Any, reverse: bool = False, **kwargs: Any
    ) -> keras.KerasTensor:
        if reverse:
            return keras.KerasTensor((*ids.shape[:-1], self.vocab_size), self.compute_dtype)
        return super().compute_output_spec(ids, *args, **kwargs)

    def compute_output_shape(self, ids_shape: Shape) -> Shape:
        return (*ids_shape, self.output_dim)
