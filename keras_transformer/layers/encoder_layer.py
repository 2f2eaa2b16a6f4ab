"""One encoder layer."""

from typing import Any

import keras

from keras_transformer._utils.checks import check_vectors
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._block import TransformerBlock, sizes_only
from keras_transformer.layers._parts import build_part
from keras_transformer.layers.add_normalization import AddNormalization
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.settings import BlockSettings


@keras.saving.register_keras_serializable(package="keras_transformer")
class EncoderLayer(TransformerBlock):
    """An encoder layer: self-attention and a feed-forward network.

    Each sub-layer has a residual connection and a layer normalization. With a causal mask it is a
    layer of a decoder-only language model, which `step` computes one position at a time.

    Shape letters: B batch, S length, L cache length, D model size.

    Args:
        h: number of attention heads.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the input and the output, D.
        d_ff: size of the inner layer of the feed-forward network.
        rate: dropout rate of each sub-layer's output.
        settings: `BlockSettings`, which has further options; replaces `h` … `rate`.

    Raises:
        TypeError: if neither `settings` nor all of `h` … `rate` are given.
        ValueError: if both are given, a size is not a positive integer or a rate is not in [0, 1).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.1 and figure 1 (left).

    Example:
        >>> layer = kt.EncoderLayer(settings=kt.BlockSettings(h=2, d_model=8, d_ff=16))
        >>> mask = kt.padding_mask(np.array([[5, 7, 0]]))
        >>> ops.shape(layer(np.ones((1, 3, 8)), attention_mask=mask))
        (1, 3, 8)
    """

    @sizes_only
    def __init__(
        self,
        h: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        d_model: int | None = None,
        d_ff: int | None = None,
        rate: float | None = None,
        *,
        settings: BlockSettings | None = None,
        **kwargs: Any,
    ) -> None:
        sizes = {"h": h, "d_k": d_k, "d_v": d_v, "d_model": d_model, "d_ff": d_ff, "rate": rate}
        super().__init__(settings, sizes, **kwargs)
        self.self_attention = self._sublayer(MultiHeadAttention, "self_attention")
        self.add_norm_1 = self._sublayer(AddNormalization, "add_norm_1")
        self.feed_forward = self._sublayer(FeedForward, "feed_forward")
        self.add_norm_2 = self._sublayer(AddNormalization, "add_norm_2")

    def build(self, x_shape: Shape) -> None:
        check_vectors(x_shape, self.settings.d_model)
        build_part(self.self_attention, x_shape, x_shape, x_shape)
        build_part(self.add_norm_1, x_shape, x_shape)
        build_part(self.feed_forward, x_shape)
        build_part(self.add_norm_2, x_shape, x_shape)
        self.built = True

    def build_graph(self, sequence_length: int | None = None) -> keras.Model:
        """Builds a functional model of the sub-layers, for `summary()`.

        Args:
            sequence_length: S, the length of the input; None for any.

        Returns:
            A `keras.Model` that shares this layer's weights. Its input and output are (B, S, D).
        """
        x = keras.Input((sequence_length, self.settings.d_model), name="x")
        if not self.built:
            self.build(x.shape)
        return keras.Model(x, self.call(x), name=self.name)

    def call(self, x: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Applies the layer to all positions at once.

        Args:
            x: hidden states, (B, S, D).
            attention_mask: boolean, broadcastable to (B, S, S); True = may attend.

        Returns:
            Hidden states, (B, S, D).
        """
        y = self.add_norm_1.sublayer_input(x)
        x = self.add_norm_1(x, self.self_attention(y, y, y, attention_mask=attention_mask))
        return self.add_norm_2(x, self.feed_forward(self.add_norm_2.sublayer_input(x)))

    def start(self, batch_size: int, length: int) -> tuple[Tensor, Tensor]:
        """Creates the empty cache of `step`.

        Args:
            batch_size: B.
            length: maximum number of steps, L.

        Returns:
            The cache of the self-attention (see `MultiHeadAttention.start`).
        """
        return self.self_attention.start(batch_size, length)

    def step(
        self,
        x: Tensor,
        position: Tensor | int,
        cache: tuple[Tensor, Tensor],
        attention_mask: Tensor,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Applies the layer to one or more positions using the KV cache, as causal `call`.

        Args:
            x: hidden states, (B, T, D), usually of one position.
            position: int32 scalar, that of the first, starting at 0.
            cache: from `start` or the previous step.
            attention_mask: boolean, (B, T, L), True up to each position.

        Returns:
            Hidden states, (B, T, D), and the next cache.
        """
        y = self.add_norm_1.sublayer_input(x)
        y, cache = self.self_attention.step(y, position, cache, attention_mask)
        x = self.add_norm_1(x, y)
        return self.add_norm_2(x, self.feed_forward(self.add_norm_2.sublayer_input(x))), cache

    def compute_output_shape(self, x_shape: Shape) -> Shape:
        return x_shape
