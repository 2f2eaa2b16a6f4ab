"""Embeddings of tokens, positions and segments."""

from typing import Any

import keras

from keras_transformer._utils.checks import check_optional_size
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import build_part
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.layers.position_embedding import PositionEmbeddingLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class SegmentEmbedding(PositionEmbeddingLayer):
    """The embeddings of BERT: tokens, positions and segments, added and normalized.

    Shape letters: B batch, T length, D = output_dim, V = vocab_size.

    Args:
        seq_length: maximum length T, the number of positions.
        vocab_size: size of the vocabulary, V.
        output_dim: size of the embeddings, D.
        num_segments: number of segments; None for no segment embeddings.
        rate: dropout rate of the output. Use 0 before an `Encoder`, which applies dropout to its
            input.
        epsilon: number that the normalization adds to the variance.

    Raises:
        ValueError: if a size is not a positive integer, `rate` is not in [0, 1), `epsilon` is not
            positive, a sequence is longer than `seq_length` (not checked inside a graph of unknown
            length), or `segments` are passed although `num_segments` is None.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), figure 2.

    Example:
        >>> embedding = kt.SegmentEmbedding(10, vocab_size=100, output_dim=8)
        >>> ids, segments = np.array([[2, 5, 3, 7]]), np.array([[0, 0, 0, 1]])
        >>> ops.shape(embedding(ids, segments))
        (1, 4, 8)
    """

    def __init__(
        self,
        seq_length: int,
        vocab_size: int,
        output_dim: int,
        num_segments: int | None = 2,
        rate: float = 0.0,
        epsilon: float = 1e-12,
        **kwargs: Any,
    ) -> None:
        super().__init__(seq_length, vocab_size, output_dim, **kwargs)
        self.num_segments = check_optional_size(num_segments=num_segments)
        self.rate = rate
        self.epsilon = epsilon
        dtype = self.dtype_policy
        if num_segments is not None:
            self.segments = self._embedding_layer(num_segments, "segments")
        self.norm = LayerNormalization(epsilon=epsilon, dtype=dtype, name="norm")
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")

    def build(self, ids_shape: Shape, segments_shape: Shape | None = None) -> None:
        super().build(ids_shape)
        if self.num_segments is not None:
            build_part(self.segments, ids_shape, dtype="int32")
        build_part(self.norm, (*ids_shape, self.output_dim))
        self.built = True

    def call(self, ids: Tensor, segments: Tensor | None = None, reverse: bool = False) -> Tensor:
        """Embeds tokens, their positions and their segments.

        Args:
            ids: integer token ids, (B, T).
            segments: integers, (B, T), the segment of each token; all 0 if None.
            reverse: whether `ids` are hidden states, and the result is that of `to_logits`.

        Returns:
            (B, T, D).
        """
        if reverse:
            return self.to_logits(ids)
        x = super().call(ids)
        if self.num_segments is not None:
            x = x + self.segments(ids * 0 if segments is None else segments)
        elif segments is not None:
            raise ValueError(
                "This layer has no segment embeddings: omit `segments`, or set `num_segments`. "
                f"Received: segments of shape {tuple(segments.shape)}"
            )
        return self.dropout(self.norm(x))

    def get_config(self) -> dict[str, Any]:
        options = {
            "num_segments": self.num_segments,
            "rate": self.rate,
            "epsilon": self.epsilon,
        }
        return {**super().get_config(), **options}

    def compute_output_shape(self, ids_shape: Shape, segments_shape: Shape | None = None) -> Shape:
        return (*ids_shape, self.output_dim)
