"""Multi-head attention."""

import warnings
from typing import Any, Self

import keras
from keras import ops

from keras_transformer._utils.checks import check_axes, check_rotary, check_sizes
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._attention_mask_mixin import AttentionMaskMixin
from keras_transformer.layers._heads import merge_heads, split_heads
from keras_transformer.layers._parts import PartsMixin, build_part
from keras_transformer.layers.dot_product_attention import DotProductAttention
from keras_transformer.layers.rotary_embedding import rotary_embedding
from keras_transformer.masks import with_implicit_mask
from keras_transformer.settings import BlockSettings, names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(PartsMixin, AttentionMaskMixin, keras.layers.Layer):
    """Multi-head scaled dot-product attention.

    Shape letters: B batch, T query length, S key length, L cache length, N heads, D model size.

    Args:
        h: number of attention heads, N.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the output, D.
        rate: dropout rate of the attention weights.
        rotary_base: base of the rotary position embeddings of queries and keys (see
            `rotary_embedding`); None for none. They are meant for self-attention.

    Raises:
        ValueError: if a size is not a positive integer, `rate` is not in [0, 1), `rotary_base` is
            not positive, or `d_k` is odd with rotary position embeddings.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.2.2.

    Example:
        >>> attention = kt.MultiHeadAttention(h=2, d_k=4, d_v=4, d_model=8)
        >>> x = np.ones((1, 3, 8))
        >>> ops.shape(attention(x, x, x, attention_mask=kt.causal_mask(3)))
        (1, 3, 8)

        One position with a KV cache:

        >>> cache = attention.start(batch_size=1, length=3)
        >>> mask = np.array([[[True, False, False]]])
        >>> y, cache = attention.step(x[:, :1], 0, cache, mask)
        >>> ops.shape(y)
        (1, 1, 8)
    """

    @names_ours
    def __init__(
        self,
        h: int,
        d_k: int,
        d_v: int,
        d_model: int,
        rate: float = 0.0,
        rotary_base: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        sizes = check_sizes(h=h, d_k=d_k, d_v=d_v, d_model=d_model)
        self.h, self.d_k, self.d_v, self.d_model = sizes
        check_rotary(rotary_base, self.d_k)
        self.rate = rate
        self.rotary_base = rotary_base
        # One matrix for all heads: splitting the result is cheap, and one large product is faster
        # than h small ones.
        self.query_projection = self._dense(self.h * self.d_k, "query_projection")
        self.key_projection = self._dense(self.h * self.d_k, "key_projection")
        self.value_projection = self._dense(self.h * self.d_v, "value_projection")
        self.output_projection = self._dense(self.d_model, "output_projection")
        self.attention = DotProductAttention(rate, dtype=self.dtype_policy, name="attention")

    @classmethod
    def from_settings(cls, settings: BlockSettings, **kwargs: Any) -> Self:
        """Creates the layer from `BlockSettings`."""
        sizes = (settings.h, settings.d_k, settings.d_v, settings.d_model)
        options = (settings.attention_rate, settings.rotary_base)
        return cls(*sizes, *options, **kwargs)  # type: ignore[arg-type]

    def _dense(self, units, name):
        return keras.layers.Dense(units, dtype=self.dtype_policy, name=name)

    def build(self, queries_shape: Shape, keys_shape: Shape, values_shape: Shape) -> None:
        build_part(self.query_projection, queries_shape)
        build_part(self.key_projection, keys_shape)
        build_part(self.value_projection, values_shape)
        keys = (None, self.h, None, self.d_k)
        build_part(self.attention, keys, keys, (*keys[:-1], self.d_v))
        build_part(self.output_projection, (None, None, self.h * self.d_v))
        self.built = True

    def call(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        attention_mask: Tensor | None = None,
        keys_mask: Tensor | None = None,
    ) -> Tensor:
        """Computes the attention.

        Args:
            queries: (B, T, any).
            keys: (B, S, any).
            values: (B, S, any). In a call of the layer, they default to the keys.
            attention_mask: boolean, (T, S) or (B, T, S), or broadcastable to it; True = may attend.
                All heads share it.
            keys_mask: implicit mask of the keys, (B, S), which Keras passes; hides keys as well.

        Returns:
            (B, T, D).
        """
        attention_mask = with_implicit_mask(attention_mask, keys_mask)
        check_axes(3, "(B, T, D)", queries=queries, keys=keys, values=values)
        return self.attend(queries, *self.project(keys, values), attention_mask=attention_mask)

    def project(
        self, keys: Tensor, values: Tensor, start: Tensor | int = 0
    ) -> tuple[Tensor, Tensor]:
        """Computes the keys and values of all heads, which decoding reuses in every step.

        Args:
            keys: (B, S, any).
            values: (B, S, any).
            start: position of the first key, for rotary position embeddings.

        Returns:
            Keys, (B, N, S, d_k), and values, (B, N, S, d_v).
        """
        keys, values = self.key_projection(keys), self.value_projection(values)
        return self._rotated(split_heads(keys, self.h), start), split_heads(values, self.h)

    def _rotated(self, x, start):
        return x if self.rotary_base is None else rotary_embedding(x, self.rotary_base, start)

    def attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        attention_mask: Tensor | None = None,
        start: Tensor | int = 0,
    ) -> Tensor:
        """Computes the attention with projected keys and values.

        Args:
            queries: (B, T, any).
            keys, values: the result of `project`.
            attention_mask: see `call`.
            start: position of the first query, for rotary position embeddings.

        Returns:
            (B, T, D).
        """
        if attention_mask is not None:
            if len(attention_mask.shape) not in (2, 3):
                raise ValueError(
                    "`attention_mask` must have the shape (T, S) or (B, T, S), without an axis of "
                    "the heads: pass `mask[:, 0]` of a mask (B, 1, T, S). "
                    f"Received: shape {tuple(attention_mask.shape)}"
                )
            _check_meaning(attention_mask.shape, *queries.shape[:2])
            attention_mask = ops.expand_dims(attention_mask, axis=-3)  # (B, 1, T, S) or (1, T, S)
        queries = split_heads(self.query_projection(queries), self.h)  # (B, N, T, d_k)
        queries = self._rotated(queries, start)
        context = self.attention(queries, keys, values, attention_mask=attention_mask)
        return self.output_projection(merge_heads(context))  # (B, N, T, d_v) -> (B, T, D)

    def start(self, batch_size: int, length: int) -> tuple[Tensor, Tensor]:
        """Creates the empty cache of `step`.

        Args:
            batch_size: B.
            length: maximum number of steps, L.

        Returns:
            Keys, (B, N, L, d_k), and values, (B, N, L, d_v), all 0.
        """
        shape = (batch_size, self.h, length)
        return tuple(ops.zeros((*shape, d), self.compute_dtype) for d in (self.d_k, self.d_v))

    def step(
        self,
        x: Tensor,
        position: Tensor | int,
        cache: tuple[Tensor, Tensor],
        attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Computes causal self-attention for one position using the KV cache.

        Args:
            x: (B, 1, any).
            position: int32 scalar, starting at 0.
            cache: from `start` or the previous step.
            attention_mask: boolean, (B, 1, L), True up to this position.

        Returns:
            (B, 1, D), and the next cache.
        """
        new, index = self.project(x, x, position), (0, 0, position, 0)
        keys, values = (ops.slice_update(x, index, y) for x, y in zip(cache, new, strict=True))
        return self.attend(x, keys, values, attention_mask, position), (keys, values)

    def get_config(self) -> dict[str, Any]:
        sizes = {"h": self.h, "d_k": self.d_k, "d_v": self.d_v, "d_model": self.d_model}
        options = {"rate": self.rate, "rotary_base": self.rotary_base}
        return {**super().get_config(), **sizes, **options}

    def compute_output_shape(
        self, queries_shape: Shape, keys_shape: Shape, values_shape: Shape
    ) -> Shape:
        return (*queries_shape[:-1], self.d_model)


def _check_meaning(mask_shape, batch_size, length):
    """Warns or raises a ValueError if a mask of two axes has, or may have, the wrong ones."""
    if len(mask_shape) != 2 or batch_size in (None, 1) or mask_shape[0] != batch_size:
        return
    text = (
        "A mask of two axes is (T, S). Pass `mask[:, None]` of a mask (B, S) that hides padding, "
        f"and `mask[None]` of a mask (T, S). Received: shape {tuple(mask_shape)} for {batch_size} "
        "sequences"
    )
    if length not in (None, batch_size):
        raise ValueError(text)
    warnings.warn(text, stacklevel=2)
