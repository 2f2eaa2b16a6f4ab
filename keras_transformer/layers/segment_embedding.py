"""Words as vectors that know their positions and which of two texts they are of."""

import keras

from keras_transformer._utils.checks import check_sizes, given
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.layers.position_embedding import PositionEmbeddingLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class SegmentEmbedding(PositionEmbeddingLayer):
    """Learned words plus learned positions plus learned segments, normalised.

    Shape letters: B batch, T length, D = output_dim, V = vocab_size.

    Args:
        seq_length: number of positions; no sequence may be longer.
        vocab_size: number of words, V.
        output_dim: size of the vectors, D.
        num_segments: number of segments; None for none.
        rate: dropout rate of the output; 0 before an `Encoder`, which drops out its input itself.
        epsilon: what the norm adds to the variance.

    Raises:
        ValueError: if a size is no positive integer, `rate` not in [0, 1), `epsilon` not positive;
            if a sequence is longer than `seq_length` (while its length is known), or segments are
            given where there are none.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), figure 2.
    """

    def __init__(
        self,
        seq_length,
        vocab_size,
        output_dim,
        num_segments=2,
        rate=0.0,
        epsilon=1e-12,
        **kwargs,
    ):
        super().__init__(seq_length, vocab_size, output_dim, **kwargs)
        check_sizes(**given(num_segments=num_segments))
        self.num_segments = num_segments
        self.rate = rate
        self.epsilon = epsilon
        dtype = self.dtype_policy
        if num_segments is not None:
            self.segments = self._embedding(num_segments, "segments")
        self.norm = LayerNormalization(epsilon=epsilon, dtype=dtype, name="norm")
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")

    def build(self, ids_shape, segments_shape=None):
        super().build(ids_shape)
        if self.num_segments is not None:
            self.segments.build(ids_shape)
        self.norm.build((*ids_shape, self.output_dim))
        self.built = True

    def call(self, ids, segments=None):
        """Looks up and adds.

        Args:
            ids: integer token ids, (B, T).
            segments: integers, (B, T): the segment of each token; None for 0 everywhere.

        Returns:
            (B, T, D).
        """
        x = super().call(ids)
        if self.num_segments is not None:
            x = x + self.segments(ids * 0 if segments is None else segments)
        elif segments is not None:
            raise ValueError(
                "There are no segments here: leave them out, or make the layer with "
                f"`num_segments`. Received: segments of the shape {tuple(segments.shape)}"
            )
        return self.dropout(self.norm(x))

    def get_config(self):
        options = {
            "num_segments": self.num_segments,
            "rate": self.rate,
            "epsilon": self.epsilon,
        }
        return {**super().get_config(), **options}

    def compute_output_shape(self, ids_shape, segments_shape=None):
        return (*ids_shape, self.output_dim)
