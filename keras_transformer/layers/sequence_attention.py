"""Attention that turns a sequence into one vector."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_length, check_sizes
from keras_transformer.layers.dot_product_attention import masked_softmax, weighted_sum


@keras.saving.register_keras_serializable(package="keras_transformer")
class SequenceAttention(keras.layers.Layer):
    """Weighs the steps of a sequence, such as a recurrent layer's outputs, and adds them up.

    The score of step t is tanh(wᵀx_t + b_t): a weight per feature, a bias per step.

    Shape letters: B batch, T length, F features.

    Args:
        seq_length: number of biases; no sequence may be longer.

    Raises:
        ValueError: if `seq_length` is not a positive integer, or a sequence is longer (while its
            length is known: not inside a graph for open lengths).

    References:
        "Feed-Forward Networks with Attention Can Solve Some Long-Term Memory Problems" (Raffel and
        Ellis, 2015), equation 1.
    """

    def __init__(self, seq_length, **kwargs):
        super().__init__(**kwargs)
        check_sizes(seq_length=seq_length)
        self.seq_length = seq_length

    def build(self, x_shape):
        self.kernel = self.add_weight(shape=(x_shape[-1], 1), name="kernel")
        self.bias = self.add_weight(shape=(self.seq_length, 1), initializer="zeros", name="bias")
        self.built = True

    def call(self, x, attention_mask=None):
        """Attends.

        Args:
            x: (B, T, F).
            attention_mask: boolean, broadcastable to (B, 1, T); True = may attend.

        Returns:
            The weighted sum of the steps, (B, F).
        """
        check_length(x.shape[1], seq_length=self.seq_length)
        scores = ops.tanh(ops.matmul(x, self.kernel) + self.bias[: ops.shape(x)[1]])  # (B, T, 1)
        weights = masked_softmax(ops.swapaxes(scores, 1, 2), attention_mask)
        return ops.squeeze(weighted_sum(self, weights, x), axis=1)

    def get_config(self):
        return {**super().get_config(), "seq_length": self.seq_length}

    def compute_output_shape(self, x_shape):
        return (x_shape[0], x_shape[-1])
