"""The decoder."""

import keras

from keras_transformer.layers._block import TransformerStack
from keras_transformer.layers.decoder_layer import DecoderLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class Decoder(TransformerStack):
    """Decodes a sequence of vectors with n decoder layers, looking at the encoded source.

    Shape letters: B batch, T target length, S source length, D model size.

    Args:
        h: number of heads.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the input and the output.
        d_ff: size of the feed-forward network's inner layer.
        n: number of layers.
        rate: dropout rate of the input and of each sub-layer's output.
        activation: activation of the feed-forward network.
        norm_first: whether to normalise before each sub-layer instead of after it; the last sum
            then gets a norm of its own.

    Raises:
        ValueError: if a size is not a positive integer or `rate` is not in [0, 1).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.1 and figure 1 (right).
    """

    layer_class = DecoderLayer

    def build(self, x_shape, encoder_output_shape):
        self._build_parts(x_shape, encoder_output_shape)

    def call(self, x, encoder_output, self_attention_mask=None, cross_attention_mask=None):
        """Decodes, all positions together.

        Args:
            x: (B, T, D).
            encoder_output: (B, S, D).
            self_attention_mask: boolean, broadcastable to (B, T, T); True = may attend.
            cross_attention_mask: boolean, broadcastable to (B, T, S); True = may attend.

        Returns:
            (B, T, D).
        """
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(
                x,
                encoder_output,
                self_attention_mask=self_attention_mask,
                cross_attention_mask=cross_attention_mask,
            )
        return self.final_norm(x)

    def compute_output_shape(self, x_shape, encoder_output_shape):
        return x_shape
