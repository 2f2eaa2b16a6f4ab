"""Attention pooling of a sequence."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_length, check_sizes
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._attention_mask_mixin import AttentionMaskMixin
from keras_transformer.layers.dot_product_attention import masked_softmax
from keras_transformer.layers.record_attention import store_attention
from keras_transformer.masks import with_implicit_mask
from keras_transformer.settings import names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class SequenceAttention(AttentionMaskMixin, keras.layers.Layer):
    """Attention pooling: reduces a sequence, such as the output of an RNN, to one vector.

    The output is the sum of the steps, weighted by the softmax of their scores. The score of step t
    is tanh(wᵀx_t + b_t), with one weight per feature and one bias per step.

    Shape letters: B batch, T length, F features.

    Args:
        seq_length: maximum length T, the number of biases.

    Raises:
        ValueError: if `seq_length` is not a positive integer, or a sequence is longer than
            `seq_length` (not checked inside a graph of unknown length).

    References:
        "Feed-Forward Networks with Attention Can Solve Some Long-Term Memory Problems" (Raffel and
        Ellis, 2015), equation 1.

    Example:
        >>> ops.shape(kt.SequenceAttention(seq_length=10)(np.ones((2, 7, 4))))
        (2, 4)
    """

    @names_ours
    def __init__(self, seq_length: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        [self.seq_length] = check_sizes(seq_length=seq_length)

    def build(self, x_shape: Shape) -> None:
        self.kernel = self.add_weight(shape=(x_shape[-1], 1), name="kernel")
        self.bias = self.add_weight(shape=(self.seq_length, 1), initializer="zeros", name="bias")
        self.built = True

    def call(
        self, x: Tensor, attention_mask: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Computes the weighted sum of the steps.

        Args:
            x: (B, T, F).
            attention_mask: boolean, broadcastable to (B, 1, T); True = may attend.
            mask: implicit mask of `x`, (B, T), which Keras passes if there is no `attention_mask`.

        Returns:
            (B, F); zeros for a sequence that is fully masked.
        """
        check_length(x.shape[1], seq_length=self.seq_length)
        scores = ops.tanh(ops.matmul(x, self.kernel) + self.bias[: ops.shape(x)[1]])  # (B, T, 1)
        attention_mask = with_implicit_mask(attention_mask, mask)
        weights = masked_softmax(ops.swapaxes(scores, 1, 2), attention_mask)
        store_attention(self, weights)
        return ops.squeeze(ops.matmul(ops.cast(weights, x.dtype), x), axis=1)

    def compute_mask(self, x: Tensor, previous_mask: Tensor | None) -> None:
        return None  # the output is no sequence

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "seq_length": self.seq_length}

    def compute_output_shape(self, x_shape: Shape) -> Shape:
        return (x_shape[0], x_shape[-1])
