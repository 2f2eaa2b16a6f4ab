"""Multi-head attention."""

import warnings
from typing import Any, Self

import keras
from keras import ops

from keras_transformer._utils.checks import (
    check_axes,
    check_choice,
    check_groups,
    check_optional_size,
    check_rotary,
    check_sizes,
)
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._attention_mask_mixin import AttentionMaskMixin
from keras_transformer.layers._heads import merge_heads, split_heads
from keras_transformer.layers._parts import PartsMixin, build_part
from keras_transformer.layers.dot_product_attention import DotProductAttention
from keras_transformer.layers.layer_normalization import make_normalization
from keras_transformer.layers.relative_bias import RelativeBias
from keras_transformer.layers.rotary_embedding import rotary_embedding
from keras_transformer.masks import combine_masks, distances, with_implicit_mask
from keras_transformer.settings import EPSILON, RELATIVE_POSITIONS, BlockSettings, names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(PartsMixin, AttentionMaskMixin, keras.layers.Layer):
    """Multi-head scaled dot-product attention.

    Shape letters: B batch, T query length, S key length, L cache length, N heads, M heads of the
    keys and values, D model size.

    Args:
        h: number of attention heads, N.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the output, D.
        rate: dropout rate of the attention weights.
        rotary_base: base of the rotary position embeddings of queries and keys (see
            `rotary_embedding`); None for none. They are meant for self-attention, like the next
            two options.
        rotary_scaling: see `rotary_embedding`.
        relative_positions: kind of a `RelativeBias` of the scores; None for none.
        window: distance from which on keys are hidden (see `window_mask`); None for no limit.
        h_kv: number of heads of the keys and values, M: grouped-query attention, or multi-query
            attention if 1. They have fewer parameters and a smaller KV cache. None for `h`.
        qk_norm: whether RMS normalization is applied to the queries and keys of each head.
        epsilon: number that it adds to the mean square.
        use_bias: whether the projections have biases.
        qkv_bias: whether those of queries, keys and values have biases; None as `use_bias`.

    Raises:
        ValueError: if a size is not a positive integer, `rate` is not in [0, 1), `rotary_base` is
            not positive, `d_k` is odd with rotary position embeddings, `h_kv` does not divide `h`,
            or `relative_positions` is unknown.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.2.2;
        "GQA: Training Generalized Multi-Query Transformer Models" (Ainslie et al., 2023), section
        2.2.

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
        *,
        rotary_scaling: tuple[float, ...] | None = None,
        relative_positions: str | None = None,
        window: int | None = None,
        h_kv: int | None = None,
        qk_norm: bool = False,
        epsilon: float = EPSILON,
        use_bias: bool = True,
        qkv_bias: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        sizes = check_sizes(h=h, d_k=d_k, d_v=d_v, d_model=d_model)
        self.h, self.d_k, self.d_v, self.d_model = sizes
        self.rate = rate
        self.rotary_base = rotary_base
        # Private, because subclasses written for version 0.2 may have attributes of these names.
        self._rotary_scaling = check_rotary(rotary_base, self.d_k, rotary_scaling)
        check_choice((None, *RELATIVE_POSITIONS), relative_positions=relative_positions)
        self._relative_positions = relative_positions
        self._window = check_optional_size(window=window)
        self._h_kv = check_groups(self.h, h_kv)
        self._qk_norm = qk_norm
        self._epsilon = epsilon
        self._use_bias = use_bias
        self._qkv_bias = qkv_bias
        # One matrix for all heads: splitting the result is cheap, and one large product is faster
        # than h small ones.
        has_bias, keys_heads = use_bias if qkv_bias is None else qkv_bias, self._keys_heads
        self.query_projection = self._dense(self.h * self.d_k, "query_projection", has_bias)
        self.key_projection = self._dense(keys_heads * self.d_k, "key_projection", has_bias)
        self.value_projection = self._dense(keys_heads * self.d_v, "value_projection", has_bias)
        self.output_projection = self._dense(self.d_model, "output_projection", use_bias)
        if qk_norm:
            self.query_norm, self.key_norm = (
                make_normalization("rms", epsilon, dtype=self.dtype_policy, name=f"{name}_norm")
                for name in ("query", "key")
            )
        if relative_positions is not None:
            self.relative_bias = RelativeBias(
                self.h, relative_positions, dtype="float32", name="relative_bias"
            )
        self.attention = DotProductAttention(rate, dtype=self.dtype_policy, name="attention")

    @classmethod
    def from_settings(cls, settings: BlockSettings, **kwargs: Any) -> Self:
        """Creates the layer from `BlockSettings`."""
        newer = [name for name in settings.newer() if name in _OPTIONS]
        names = ("h", "d_k", "d_v", "d_model", "rotary_base", *newer)
        options = {name: getattr(settings, name) for name in names}
        if settings.epsilon is not None:
            options["epsilon"] = settings.epsilon
        return cls(**options, rate=settings.attention_rate, **kwargs)

    @property
    def _keys_heads(self):
        return self._h_kv or self.h

    def _dense(self, units, name, use_bias):
        return keras.layers.Dense(units, use_bias=use_bias, dtype=self.dtype_policy, name=name)

    def build(self, queries_shape: Shape, keys_shape: Shape, values_shape: Shape) -> None:
        build_part(self.query_projection, queries_shape)
        build_part(self.key_projection, keys_shape)
        build_part(self.value_projection, values_shape)
        keys, values = ((None, self._keys_heads, None, d) for d in (self.d_k, self.d_v))
        queries = (None, self.h, None, self.d_k)
        if self._qk_norm:
            build_part(self.query_norm, queries)
            build_part(self.key_norm, keys)
        if self._relative_positions is not None:
            build_part(self.relative_bias, (None, None), dtype="int32")
        build_part(self.attention, queries, keys, values)
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
            Keys, (B, M, S, d_k), and values, (B, M, S, d_v).
        """
        keys, values = (
            split_heads(x, self._keys_heads)
            for x in (self.key_projection(keys), self.value_projection(values))
        )
        keys = self.key_norm(keys) if self._qk_norm else keys
        return self._rotated(keys, start), values

    def _rotated(self, x, start):
        if self.rotary_base is None:
            return x
        return rotary_embedding(x, self.rotary_base, start, self._rotary_scaling)

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
        queries = self.query_norm(queries) if self._qk_norm else queries
        queries, options = self._rotated(queries, start), {}
        if self._window is not None or self._relative_positions is not None:
            offsets = distances(ops.shape(queries)[2], ops.shape(keys)[2], start)  # (T, S)
            if self._window is not None:
                attention_mask = combine_masks(attention_mask, ops.abs(offsets) < self._window)
            if self._relative_positions is not None:
                options["bias"] = ops.transpose(self.relative_bias(offsets), (2, 0, 1))  # (N, T, S)
        context = self.attention(queries, keys, values, attention_mask=attention_mask, **options)
        return self.output_projection(merge_heads(context))  # (B, N, T, d_v) -> (B, T, D)

    def start(self, batch_size: int, length: int) -> tuple[Tensor, Tensor]:
        """Creates the empty cache of `step`.

        Args:
            batch_size: B.
            length: maximum number of steps, L.

        Returns:
            Keys, (B, M, L, d_k), and values, (B, M, L, d_v), all 0.
        """
        shape = (batch_size, self._keys_heads, length)
        return tuple(ops.zeros((*shape, d), self.compute_dtype) for d in (self.d_k, self.d_v))

    def step(
        self,
        x: Tensor,
        position: Tensor | int,
        cache: tuple[Tensor, Tensor],
        attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Computes causal self-attention for one or more positions using the KV cache.

        Args:
            x: (B, T, any), usually of one position.
            position: int32 scalar, that of the first, starting at 0.
            cache: from `start` or the previous step.
            attention_mask: boolean, (B, T, L), True up to each position.

        Returns:
            (B, T, D), and the next cache.
        """
        new, index = self.project(x, x, position), (0, 0, position, 0)
        keys, values = (ops.slice_update(x, index, y) for x, y in zip(cache, new, strict=True))
        return self.attend(x, keys, values, attention_mask, position), (keys, values)

    def get_config(self) -> dict[str, Any]:
        sizes = {"h": self.h, "d_k": self.d_k, "d_v": self.d_v, "d_model": self.d_model}
        options = {name: getattr(self, f"_{name}") for name in ("epsilon", *_OPTIONS)}
        options |= {"rate": self.rate, "rotary_base": self.rotary_base}
        return {**super().get_config(), **sizes, **options}

    def compute_output_shape(
        self, queries_shape: Shape, keys_shape: Shape, values_shape: Shape
    ) -> Shape:
        return (*queries_shape[:-1], self.d_model)


# Newer fields of `BlockSettings` that are arguments of `MultiHeadAttention`.
_OPTIONS = (
    "rotary_scaling", "relative_positions", "window", "h_kv", "qk_norm", "use_bias", "qkv_bias",
)  # fmt: skip


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
