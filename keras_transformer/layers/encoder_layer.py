"""One layer of the encoder."""

import keras

from keras_transformer._utils.checks import check_vectors
from keras_transformer.layers._block import TransformerBlock
from keras_transformer.layers.add_normalization import AddNormalization
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.multi_head_attention import MultiHeadAttention


@keras.saving.register_keras_serializable(package="keras_transformer")
class EncoderLayer(TransformerBlock):
    """Self-attention and a feed-forward network, each within a residual connection.

    With a causal mask it is a layer of a language model, which can go on step by step.

    Shape letters: B batch, S length, L length of the cache, D model size.

    Args:
        h: number of heads.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the input and the output.
        d_ff: size of the feed-forward network's inner layer.
        rate: dropout rate of each sub-layer's output.
        settings: `BlockSettings` with further options, instead of all of these.

    Raises:
        TypeError: if neither `settings` nor all of the others are given.
        ValueError: if both are given, a size is not a positive integer or a rate is not in [0, 1).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.1 and figure 1 (left).
    """

    def _make_parts(self):
        self.self_attention = self._part(MultiHeadAttention, "self_attention")
        self.add_norm_1 = self._part(AddNormalization, "add_norm_1")
        self.feed_forward = self._part(FeedForward, "feed_forward")
        self.add_norm_2 = self._part(AddNormalization, "add_norm_2")

    def build(self, x_shape):
        check_vectors(x_shape, self.settings.d_model)
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
        x = keras.Input((sequence_length, self.settings.d_model), name="x")
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
        y = self.add_norm_1.sublayer_input(x)
        x = self.add_norm_1(x, self.self_attention(y, y, y, attention_mask=attention_mask))
        return self.add_norm_2(x, self.feed_forward(self.add_norm_2.sublayer_input(x)))

    def start(self, batch_size, length):
        """The empty cache with which L = length steps begin: see `MultiHeadAttention.start`."""
        return self.self_attention.start(batch_size, length)

    def step(self, x, position, cache, attention_mask):
        """Encodes one position, as `call` does with a causal mask.

        Args:
            x: (B, 1, D).
            position: int32 scalar, 0 at first.
            cache: what `start` returned, or the step before.
            attention_mask: boolean, (B, 1, L), open for this position and those before.

        Returns:
            (B, 1, D), and the next cache.
        """
        y = self.add_norm_1.sublayer_input(x)
        y, cache = self.self_attention.step(y, position, cache, attention_mask)
        x = self.add_norm_1(x, y)
        return self.add_norm_2(x, self.feed_forward(self.add_norm_2.sublayer_input(x))), cache

    def compute_output_shape(self, x_shape):
        return x_shape
