"""The decoder."""

import keras

from keras_transformer.layers._block import TransformerStack
from keras_transformer.layers.decoder_layer import DecoderLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class Decoder(TransformerStack):
    """Decodes a sequence of vectors with n decoder layers, looking at the encoded source.

    Shape letters: B batch, T target length, S source length, L length of the cache, D model size.

    Args:
        h: number of heads.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the input and the output.
        d_ff: size of the feed-forward network's inner layer.
        n: number of layers.
        rate: dropout rate of the input and of each sub-layer's output.
        settings: `BlockSettings` with further options, instead of all of these.

    Raises:
        TypeError: if neither `settings` nor all of the others are given.
        ValueError: if both are given, a size is not a positive integer or a rate is not in [0, 1).

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

    def start(self, encoder_output, length):
        """What decoding step by step begins with.

        Args:
            encoder_output: (B, S, D).
            length: L, the number of steps to make room for.

        Returns:
            The empty cache and the memory, each a tuple with an entry per layer.
        """
        starts = [layer.start(encoder_output, length) for layer in self.layers]
        return tuple(zip(*starts, strict=True))

    def step(self, x, position, cache, memory, self_attention_mask, cross_attention_mask=None):
        """Decodes one position, as `call` does, with the cache of those before.

        Args:
            x: the vectors at this position, (B, 1, D).
            position: int32 scalar, 0 at first.
            cache, memory: what `start` returned, and the cache of the step before.
            self_attention_mask: boolean, (B, 1, L), open for this position and those before.
            cross_attention_mask: boolean, broadcastable to (B, 1, S); True = may attend.

        Returns:
            (B, 1, D), and the next cache.
        """
        masks = (self_attention_mask, cross_attention_mask)
        x, new = self.dropout(x), []
        for layer, layer_cache, layer_memory in zip(self.layers, cache, memory, strict=True):
            x, layer_cache = layer.step(x, position, layer_cache, layer_memory, *masks)
            new.append(layer_cache)
        return self.final_norm(x), tuple(new)

    def compute_output_shape(self, x_shape, encoder_output_shape):
        return x_shape
