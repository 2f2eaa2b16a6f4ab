"""Multi-head attention."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_sizes
from keras_transformer.layers._heads import merge_heads, split_heads
from keras_transformer.layers.dot_product_attention import DotProductAttention


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(keras.layers.Layer):
    """Attends h times in parallel, each time in a projection of its own.

    Shape letters: B batch, T query length, S key length, L = length of the cache, N = h heads, D
    model size.

    Args:
        h: number of heads.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the output.
        rate: dropout rate of the attention weights.

    Raises:
        ValueError: if a size is not a positive integer or `rate` is not in [0, 1).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.2.2.
    """

    def __init__(self, h, d_k, d_v, d_model, rate=0.0, **kwargs):
        super().__init__(**kwargs)
        check_sizes(h=h, d_k=d_k, d_v=d_v, d_model=d_model)
        self.h = h
        self.d_k = d_k
        self.d_v = d_v
        self.d_model = d_model
        self.rate = rate
        # One matrix for all heads: a reshape splits it at no cost, and one large product is faster
        # than h small ones.
        self.query_projection = self._dense(h * d_k, "query_projection")
        self.key_projection = self._dense(h * d_k, "key_projection")
        self.value_projection = self._dense(h * d_v, "value_projection")
        self.output_projection = self._dense(d_model, "output_projection")
        self.attention = DotProductAttention(rate, dtype=self.dtype_policy, name="attention")

    @classmethod
    def from_settings(cls, settings, **kwargs):
        """The part of a block with `BlockSettings`."""
        sizes = (settings.h, settings.d_k, settings.d_v, settings.d_model, settings.attention_rate)
        return cls(*sizes, **kwargs)

    def _dense(self, units, name):
        return keras.layers.Dense(units, dtype=self.dtype_policy, name=name)

    def build(self, queries_shape, keys_shape, values_shape):
        self.query_projection.build(queries_shape)
        self.key_projection.build(keys_shape)
        self.value_projection.build(values_shape)
        keys = (None, self.h, None, self.d_k)
        self.attention.build(keys, keys, (*keys[:-1], self.d_v))
        self.output_projection.build((None, None, self.h * self.d_v))
        self.built = True

    def call(self, queries, keys, values, attention_mask=None):
        """Attends with every head.

        Args:
            queries: (B, T, any).
            keys: (B, S, any).
            values: (B, S, any).
            attention_mask: boolean, (T, S) or (B, T, S), where sizes may also be 1; the same for
                all heads; True = may attend.

        Returns:
            (B, T, D).
        """
        return self.attend(queries, *self.project(keys, values), attention_mask=attention_mask)

    def project(self, keys, values):
        """The keys (B, N, S, d_k) and values (B, N, S, d_v) of every head, from (B, S, any) each.

        Decoding keeps them from step to step.
        """
        keys, values = self.key_projection(keys), self.value_projection(values)
        return split_heads(keys, self.h), split_heads(values, self.h)

    def attend(self, queries, keys, values, attention_mask=None):
        """Attends to what `project` has returned; otherwise as `call`."""
        if attention_mask is not None:
            attention_mask = ops.expand_dims(attention_mask, axis=-3)  # over the heads
        queries = split_heads(self.query_projection(queries), self.h)
        context = self.attention(queries, keys, values, attention_mask=attention_mask)
        return self.output_projection(merge_heads(context))

    def start(self, batch_size, length):
        """The empty cache of `step`: keys (B, N, L, d_k) and values (B, N, L, d_v)."""
        shape = (batch_size, self.h, length)
        return tuple(ops.zeros((*shape, d), self.compute_dtype) for d in (self.d_k, self.d_v))

    def step(self, x, position, cache, attention_mask=None):
        """Attends from one position to itself and those before.

        Args:
            x: (B, 1, any).
            position: int32 scalar, 0 at first.
            cache: what `start` returned, or the step before.
            attention_mask: boolean, (B, 1, L), open for this position and those before.

        Returns:
            (B, 1, D), and the next cache.
        """
        new, at = self.project(x, x), (0, 0, position, 0)
        cache = tuple(ops.slice_update(old, at, one) for old, one in zip(cache, new, strict=True))
        return self.attend(x, *cache, attention_mask), cache

    def get_config(self):
        sizes = {"h": self.h, "d_k": self.d_k, "d_v": self.d_v, "d_model": self.d_model}
        return {**super().get_config(), **sizes, "rate": self.rate}

    def compute_output_shape(self, queries_shape, keys_shape, values_shape):
        return (*queries_shape[:-1], self.d_model)
