"""One layer of the decoder."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_vectors
from keras_transformer.layers._block import TransformerBlock
from keras_transformer.layers.add_normalization import AddNormalization
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.multi_head_attention import MultiHeadAttention


@keras.saving.register_keras_serializable(package="keras_transformer")
class DecoderLayer(TransformerBlock):
    """Self-attention, attention to the source and a feed-forward network, each residual.

    Shape letters: B batch, T target length, S source length, L length of the cache, D model size,
    N = h heads.

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
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.1 and figure 1 (right).
    """

    def _make_parts(self):
        self.self_attention = self._part(MultiHeadAttention, "self_attention")
        self.add_norm_1 = self._part(AddNormalization, "add_norm_1")
        self.cross_attention = self._part(MultiHeadAttention, "cross_attention")
        self.add_norm_2 = self._part(AddNormalization, "add_norm_2")
        self.feed_forward = self._part(FeedForward, "feed_forward")
        self.add_norm_3 = self._part(AddNormalization, "add_norm_3")

    def build(self, x_shape, encoder_output_shape):
        check_vectors(x_shape, self.settings.d_model)
        self.self_attention.build(x_shape, x_shape, x_shape)
        self.add_norm_1.build(x_shape, x_shape)
        self.cross_attention.build(x_shape, encoder_output_shape, encoder_output_shape)
        self.add_norm_2.build(x_shape, x_shape)
        self.feed_forward.build(x_shape)
        self.add_norm_3.build(x_shape, x_shape)
        self.built = True

    def build_graph(self, sequence_length):
        """A functional model of this layer's parts, with its weights, for `summary()`.

        Args:
            sequence_length: T = S, the length of both inputs.

        Returns:
            A `keras.Model` from two times (B, T, D) to (B, T, D).
        """
        shape = (sequence_length, self.settings.d_model)
        x, encoder_output = (keras.Input(shape, name=name) for name in ("x", "encoder_output"))
        if not self.built:
            self.build(x.shape, encoder_output.shape)
        return keras.Model([x, encoder_output], self.call(x, encoder_output), name=self.name)

    def call(self, x, encoder_output, self_attention_mask=None, cross_attention_mask=None):
        """Decodes once more, all positions together.

        Args:
            x: (B, T, D).
            encoder_output: (B, S, D).
            self_attention_mask: boolean, broadcastable to (B, T, T); True = may attend.
            cross_attention_mask: boolean, broadcastable to (B, T, S); True = may attend.

        Returns:
            (B, T, D).
        """
        y = self.add_norm_1.sublayer_input(x)
        x = self.add_norm_1(x, self.self_attention(y, y, y, attention_mask=self_attention_mask))
        y, z = self.add_norm_2.sublayer_input(x), encoder_output
        x = self.add_norm_2(x, self.cross_attention(y, z, z, attention_mask=cross_attention_mask))
        return self.add_norm_3(x, self.feed_forward(self.add_norm_3.sublayer_input(x)))

    def start(self, encoder_output, length):
        """What decoding step by step begins with, for L = length steps.

        Returns:
            The empty cache of this layer's keys (B, N, L, d_k) and values (B, N, L, d_v), and the
            memory: the source's keys (B, N, S, d_k) and values (B, N, S, d_v).
        """
        cache = self.self_attention.start(ops.shape(encoder_output)[0], length)
        return cache, self.cross_attention.project(encoder_output, encoder_output)

    def step(self, x, position, cache, memory, self_attention_mask, cross_attention_mask=None):
        """Decodes one position, as `call` does, with the keys and values of those before.

        Args:
            x: (B, 1, D).
            position: int32 scalar, 0 at first.
            cache, memory: what `start` returned, and the cache of the step before.
            self_attention_mask: boolean, (B, 1, L), open for this position and those before.
            cross_attention_mask: see `call`, (B, 1, S).

        Returns:
            (B, 1, D), and the next cache.
        """
        y = self.add_norm_1.sublayer_input(x)
        y, cache = self.self_attention.step(y, position, cache, self_attention_mask)
        x = self.add_norm_1(x, y)
        y = self.add_norm_2.sublayer_input(x)
        x = self.add_norm_2(x, self.cross_attention.attend(y, *memory, cross_attention_mask))
        return self.add_norm_3(x, self.feed_forward(self.add_norm_3.sublayer_input(x))), cache

    def compute_output_shape(self, x_shape, encoder_output_shape):
        return x_shape
