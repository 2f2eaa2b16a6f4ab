"""The encoder."""

import keras

from keras_transformer.layers._block import TransformerStack
from keras_transformer.layers.encoder_layer import EncoderLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class Encoder(TransformerStack):
    """Encodes a sequence of vectors with n encoder layers.

    It reads vectors, not ids: words with positions in a translator, patches in a vision model.
    With a causal mask it is the body of a language model.

    Shape letters: B batch, S length, D model size.

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
        epsilon: what the norms add to the variance.
        attention_rate: dropout rate of the attention weights.
        activation_rate: dropout rate inside the feed-forward networks.

    Raises:
        ValueError: if a size is no positive integer, a rate not in [0, 1), `epsilon` not positive.

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

    def compute_output_shape(self, x_shape):
        return x_shape
