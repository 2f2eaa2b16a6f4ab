"""The encoder."""

import keras

from keras_transformer.layers._block import TransformerStack
from keras_transformer.layers.encoder_layer import EncoderLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class Encoder(TransformerStack):
    """Encodes a sequence of vectors with n encoder layers.

    It reads vectors, not ids: words with positions in a translator, patches in a vision model.
    With a causal mask it is the body of a language model, which can go on step by step.

    Shape letters: B batch, S length, L length of the cache, D model size.

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
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.1 and figure 1 (left).
    """

    layer_class = EncoderLayer

    def build(self, x_shape):
        self._build_parts(x_shape)

    def call(self, x, attention_mask=None):
        """Encodes.

        Args:
            x: (B, S, D).
            attention_mask: boolean, broadcastable to (B, S, S); True = may attend.

        Returns:
            (B, S, D).
        """
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, attention_mask=attention_mask)
        return self.final_norm(x)

    def start(self, batch_size, length):
        """The empty cache with which L = length steps begin: a tuple with an entry per layer."""
        return tuple(layer.start(batch_size, length) for layer in self.layers)

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
        x, new = self.dropout(x), []
        for layer, layer_cache in zip(self.layers, cache, strict=True):
            x, layer_cache = layer.step(x, position, layer_cache, attention_mask)
            new.append(layer_cache)
        return self.final_norm(x), tuple(new)

    def compute_output_shape(self, x_shape):
        return x_shape
