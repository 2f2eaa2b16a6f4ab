"""One layer of the encoder."""

import keras

from keras_transformer.layers._block import TransformerBlock


@keras.saving.register_keras_serializable(package="keras_transformer")
class EncoderLayer(TransformerBlock):
    """Self-attention and a feed-forward network, each within a residual connection.

    Shape letters: B batch, S length, D model size.

    Args:
        h: number of heads.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the input and the output.
        d_ff: size of the feed-forward network's inner layer.
        rate: dropout rate of each sub-layer's output.
        activation: activation of the feed-forward network.
        norm_first: whether to normalise before each sub-layer instead of after it.
        epsilon: what the norms add to the variance.
        attention_rate: dropout rate of the attention weights.
        activation_rate: dropout rate inside the feed-forward networks.

    Raises:
        ValueError: if a size is no positive integer, a rate not in [0, 1), `epsilon` not positive.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.1 and figure 1 (left).
    """

    def _make_parts(self):
        self.self_attention = self._attention("self_attention")
        self.add_norm_1 = self._add_norm("add_norm_1")
        self.feed_forward = self._feed_forward("feed_forward")
        self.add_norm_2 = self._add_norm("add_norm_2")

    def build(self, x_shape):
        self._check_input(x_shape)
        self.self_attention.build(x_shape, x_shape, x_shape)
        self.add_norm_1.build(x_shape, x_shape)
        self.feed_forward.build(x_shape)
        self.add_norm_2.build(x_shape, x_shape)
        self.built = True

    def build_graph(self, sequence_length):
        """A functional model of this layer's parts, for `summary()`.

        Args:
            sequence_length: S, the length of the input.

        Returns:
            A `keras.Model` from (B, S, D) to (B, S, D) that shares this layer's weights.
        """
        x = keras.Input((sequence_length, self.d_model), name="x")
        if not self.built:
            self.build(x.shape)
        return keras.Model(x, self.call(x), name=self.name)

    def call(self, x, attention_mask=None):
        """Encodes once more.

        Args:
            x: (B, S, D).
            attention_mask: boolean, broadcastable to (B, S, S); True = may attend.

        Returns:
            (B, S, D).
        """
        y = self.add_norm_1.before(x)
        x = self.add_norm_1(x, self.self_attention(y, y, y, attention_mask=attention_mask))
        return self.add_norm_2(x, self.feed_forward(self.add_norm_2.before(x)))

    def compute_output_shape(self, x_shape):
        return x_shape
