"""Additive (Bahdanau) attention."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._recurrent_attention import RecurrentAttention
from keras_transformer.settings import names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class AdditiveAttention(RecurrentAttention):
    """Additive attention, also known as Bahdanau attention.

    The score of the encoder output h for the decoder state s is vᵀtanh(W₁h + W₂s). This equals
    vᵀtanh(W[h; s]) with W = [W₁ W₂], but W₁h is computed once for all queries.
    `keras.layers.AdditiveAttention` has no projections W₁ and W₂.

    Shape letters: B batch, T target length, S source length, E size of the encoder output.

    Args:
        units: size of the hidden layer: the number of rows of W₁ and W₂, and the size of v.

    Raises:
        ValueError: if `units` is not a positive integer.

    References:
        "Neural Machine Translation by Jointly Learning to Align and Translate" (Bahdanau et al.,
        2015), appendix A.1.2.

    Example:
        >>> states, encoder_output = np.ones((2, 4, 8)), np.ones((2, 5, 6))
        >>> ops.shape(kt.AdditiveAttention(units=16)(states, encoder_output))
        (2, 4, 6)
    """

    @names_ours
    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        [self.units] = check_sizes(units=units)
        self.value_projection = self._dense(self.units, "value_projection")  # W₁
        self.query_projection = self._dense(self.units, "query_projection")  # W₂
        self.score = self._dense(1, "score")  # v

    def build(self, queries_shape: Shape, values_shape: Shape) -> None:
        self.value_projection.build(values_shape)
        self.query_projection.build(queries_shape)
        self.score.build((None, None, None, self.units))
        self.built = True

    def project(self, values: Tensor) -> Tensor:
        """Computes the keys W₁h, (B, S, units)."""
        return self.value_projection(values)

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Computes the scores vᵀtanh(W₁h + W₂s), (B, T, S)."""
        queries = ops.expand_dims(self.query_projection(queries), 2)
        hidden = ops.tanh(queries + ops.expand_dims(keys, 1))  # (B, T, S, units)
        return ops.squeeze(self.score(hidden), axis=-1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}
