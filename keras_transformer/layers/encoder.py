"""The encoder stack."""

from typing import Any

import keras

from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._block import TransformerStack
from keras_transformer.layers.encoder_layer import EncoderLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class Encoder(TransformerStack):
    """The Transformer encoder: a stack of n encoder layers.

    Its input is a sequence of vectors, such as embedded tokens or image patches. With a causal
    mask it is the stack of a decoder-only language model, which `step` computes one position at a
    time.

    Shape letters: B batch, S length, L cache length, D model size.

    Args:
        h: number of attention heads.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the input and the output, D.
        d_ff: size of the inner layer of the feed-forward networks.
        n: number of layers.
        rate: dropout rate of the input and of each sub-layer's output.
        settings: `BlockSettings`, which has further options; replaces `h` … `rate`.

    Raises:
        TypeError: if neither `settings` nor all of `h` … `rate` are given.
        ValueError: if both are given, a size is not a positive integer or a rate is not in [0, 1).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.1 and figure 1 (left).

    Example:
        >>> ids = np.array([[5, 7, 9, 0]])
        >>> x = kt.PositionEmbeddingFixedWeights(None, vocab_size=20, output_dim=8)(ids)
        >>> encoder = kt.Encoder(settings=kt.BlockSettings(h=2, d_model=8, d_ff=16, n=2))
        >>> ops.shape(encoder(x, attention_mask=kt.padding_mask(ids)))
        (1, 4, 8)
    """

    _layer_class = EncoderLayer

    def build(self, x_shape: Shape) -> None:
        self._build_sublayers(x_shape)

    def call(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Encodes all positions at once.

        Args:
            x: input vectors, (B, S, D).
            attention_mask: boolean, broadcastable to (B, S, S); True = may attend.

        Returns:
            Hidden states, (B, S, D).
        """
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, attention_mask=attention_mask)
        return self.final_norm(x)

    def start(self, batch_size: int, length: int) -> tuple[Any, ...]:
        """Creates the empty cache of `step`.

        Args:
            batch_size: B.
            length: maximum number of steps, L.

        Returns:
            A tuple with one entry per layer (see `MultiHeadAttention.start`).
        """
        return tuple(layer.start(batch_size, length) for layer in self.layers)

    def step(
        self, x: Tensor, position: Tensor | int, cache: tuple[Any, ...], attention_mask: Tensor
    ) -> tuple[Tensor, tuple[Any, ...]]:
        """Encodes one or more positions using the KV cache, with the same result as causal `call`.

        Args:
            x: input vectors, (B, T, D), usually of one position.
            position: int32 scalar, that of the first, starting at 0.
            cache: from `start` or the previous step.
            attention_mask: boolean, (B, T, L), True up to each position.

        Returns:
            Hidden states, (B, T, D), and the next cache.
        """
        x, new_cache = self.dropout(x), []
        for layer, layer_cache in zip(self.layers, cache, strict=True):
            x, layer_cache = layer.step(x, position, layer_cache, attention_mask)
            new_cache.append(layer_cache)
        return self.final_norm(x), tuple(new_cache)

    def compute_output_shape(self, x_shape: Shape) -> Shape:
        return x_shape
