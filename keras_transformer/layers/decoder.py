"""The decoder stack."""

from typing import Any

import keras

from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._block import TransformerStack
from keras_transformer.layers.decoder_layer import DecoderLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class Decoder(TransformerStack):
    """The Transformer decoder: a stack of n decoder layers.

    Shape letters: B batch, T target length, S source length, L cache length, D model size.

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
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.1 and figure 1 (right).

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=8, d_ff=16, n=2)
        >>> decoder = kt.Decoder(settings=settings)
        >>> x, encoder_output = np.ones((1, 3, 8)), np.ones((1, 5, 8))
        >>> ops.shape(decoder(x, encoder_output, self_attention_mask=kt.causal_mask(3)))
        (1, 3, 8)

        One position with a KV cache:

        >>> cache, memory = decoder.start(encoder_output, length=3)
        >>> mask = np.array([[[True, False, False]]])
        >>> y, cache = decoder.step(x[:, :1], 0, cache, memory, mask)
        >>> ops.shape(y)
        (1, 1, 8)
    """

    _layer_class = DecoderLayer

    def build(self, x_shape: Shape, encoder_output_shape: Shape) -> None:
        self._build_sublayers(x_shape, encoder_output_shape)

    def call(
        self,
        x: Tensor,
        encoder_output: Tensor,
        self_attention_mask: Tensor | None = None,
        cross_attention_mask: Tensor | None = None,
    ) -> Tensor:
        """Decodes all positions at once.

        Args:
            x: target embeddings, (B, T, D).
            encoder_output: (B, S, D).
            self_attention_mask: boolean, broadcastable to (B, T, T); True = may attend.
            cross_attention_mask: boolean, broadcastable to (B, T, S); True = may attend.

        Returns:
            Hidden states, (B, T, D).
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

    def start(self, encoder_output: Tensor, length: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Prepares decoding step by step.

        Args:
            encoder_output: (B, S, D).
            length: maximum number of steps, L.

        Returns:
            The empty cache and the memory (see `DecoderLayer.start`), each a tuple with one entry
            per layer.
        """
        starts = [layer.start(encoder_output, length) for layer in self.layers]
        cache, memory = zip(*starts, strict=True)
        return cache, memory

    def step(
        self,
        x: Tensor,
        position: Tensor | int,
        cache: tuple[Any, ...],
        memory: tuple[Any, ...],
        self_attention_mask: Tensor,
        cross_attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Any, ...]]:
        """Decodes one position using the KV cache, with the same result as `call`.

        Args:
            x: target embeddings of this position, (B, 1, D).
            position: int32 scalar, starting at 0.
            cache: from `start` or the previous step.
            memory: from `start`.
            self_attention_mask: boolean, (B, 1, L), True up to this position.
            cross_attention_mask: boolean, broadcastable to (B, 1, S); True = may attend.

        Returns:
            Hidden states, (B, 1, D), and the next cache.
        """
        masks = (self_attention_mask, cross_attention_mask)
        x, new_cache = self.dropout(x), []
        for layer, layer_cache, layer_memory in zip(self.layers, cache, memory, strict=True):
            x, layer_cache = layer.step(x, position, layer_cache, layer_memory, *masks)
            new_cache.append(layer_cache)
        return self.final_norm(x), tuple(new_cache)

    def compute_output_shape(self, x_shape: Shape, encoder_output_shape: Shape) -> Shape:
        return x_shape
