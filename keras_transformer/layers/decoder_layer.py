"""One decoder layer."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_vectors
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._block import TransformerBlock, sizes_only
from keras_transformer.layers._parts import build_part
from keras_transformer.layers.add_normalization import AddNormalization
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.settings import BlockSettings


@keras.saving.register_keras_serializable(package="keras_transformer")
class DecoderLayer(TransformerBlock):
    """A decoder layer: self-attention, cross-attention and a feed-forward network.

    Each sub-layer has a residual connection and a layer normalization.

    Shape letters: B batch, T target length, S source length, L cache length, N heads, D model size.

    Args:
        h: number of attention heads, N.
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
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.1 and figure 1 (right).

    Example:
        >>> layer = kt.DecoderLayer(settings=kt.BlockSettings(h=2, d_model=8, d_ff=16))
        >>> x, encoder_output = np.ones((1, 3, 8)), np.ones((1, 5, 8))
        >>> ops.shape(layer(x, encoder_output, self_attention_mask=kt.causal_mask(3)))
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
        self.self_attention = MultiHeadAttention.from_settings(
            self.settings.causal(), dtype=self.dtype_policy, name="self_attention"
        )
        self.add_norm_1 = self._sublayer(AddNormalization, "add_norm_1")
        # A target position has no distance to a source position, so nothing depends on it here.
        without_positions = dict.fromkeys(("rotary_base", "relative_positions", "window"))
        self.cross_attention = self._sublayer(
            MultiHeadAttention, "cross_attention", **without_positions
        )
        self.add_norm_2 = self._sublayer(AddNormalization, "add_norm_2")
        self.feed_forward = self._sublayer(FeedForward, "feed_forward")
        self.add_norm_3 = self._sublayer(AddNormalization, "add_norm_3")

    def build(self, x_shape: Shape, encoder_output_shape: Shape) -> None:
        check_vectors(x_shape, self.settings.d_model)
        build_part(self.self_attention, x_shape, x_shape, x_shape)
        build_part(self.add_norm_1, x_shape, x_shape)
        build_part(self.cross_attention, x_shape, encoder_output_shape, encoder_output_shape)
        build_part(self.add_norm_2, x_shape, x_shape)
        build_part(self.feed_forward, x_shape)
        build_part(self.add_norm_3, x_shape, x_shape)
        self.built = True

    def build_graph(self, sequence_length: int | None = None) -> keras.Model:
        """Builds a functional model of the sub-layers, for `summary()`.

        Args:
            sequence_length: T = S, the length of both inputs; None for any.

        Returns:
            A `keras.Model` that shares this layer's weights. Its inputs are `x` and
            `encoder_output`, (B, T, D) each; its output is (B, T, D).
        """
        shape = (sequence_length, self.settings.d_model)
        x, encoder_output = (keras.Input(shape, name=name) for name in ("x", "encoder_output"))
        if not self.built:
            self.build(x.shape, encoder_output.shape)
        return keras.Model([x, encoder_output], self.call(x, encoder_output), name=self.name)

    def call(
        self,
        x: Tensor,
        encoder_output: Tensor,
        self_attention_mask: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
    ) -> Tensor:
        """Applies the layer to all positions at once.

        Args:
            x: hidden states, (B, T, D).
            encoder_output: (B, S, D).
            self_attention_mask: boolean, broadcastable to (B, T, T); True = may attend.
            cross_attention_mask: boolean, broadcastable to (B, T, S); True = may attend.

        Returns:
            Hidden states, (B, T, D).
        """
        y = self.add_norm_1.sublayer_input(x)
        x = self.add_norm_1(x, self.self_attention(y, y, y, attention_mask=self_attention_mask))
        y, z = self.add_norm_2.sublayer_input(x), encoder_output
        x = self.add_norm_2(x, self.cross_attention(y, z, z, attention_mask=cross_attention_mask))
        return self.add_norm_3(x, self.feed_forward(self.add_norm_3.sublayer_input(x)))

    def start(
        self, encoder_output: Tensor, length: int
    ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Prepares decoding step by step.

        Args:
            encoder_output: (B, S, D).
            length: maximum number of steps, L.

        Returns:
            The empty cache of the self-attention, and the keys and values of the cross-attention:
            see `MultiHeadAttention.start` and `project`.
        """
        cache = self.self_attention.start(ops.shape(encoder_output)[0], length)
        return cache, self.cross_attention.project(encoder_output, encoder_output)

    def step(
        self,
        x: Tensor,
        position: Tensor | int,
        cache: tuple[Tensor, Tensor],
        memory: tuple[Tensor, Tensor],
        self_attention_mask: Tensor,
        cross_attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Applies the layer to one position using the KV cache, with the same result as `call`.

        Args:
            x: hidden states of this position, (B, 1, D).
            position: int32 scalar, starting at 0.
            cache: from `start` or the previous step.
            memory: from `start`.
            self_attention_mask: boolean, (B, 1, L), True up to this position.
            cross_attention_mask: boolean, broadcastable to (B, 1, S); True = may attend.

        Returns:
            Hidden states, (B, 1, D), and the next cache.
        """
        y = self.add_norm_1.sublayer_input(x)
        y, cache = self.self_attention.step(y, position, cache, self_attention_mask)
        x = self.add_norm_1(x, y)
        y = self.add_norm_2.sublayer_input(x)
        x = self.add_norm_2(x, self.cross_attention.attend(y, *memory, cross_attention_mask))
        return self.add_norm_3(x, self.feed_forward(self.add_norm_3.sublayer_input(x))), cache

    def compute_output_shape(self, x_shape: Shape, encoder_output_shape: Shape) -> Shape:
        return x_shape
