"""Base class of the attention layers of the recurrent decoders."""

import keras
from keras import ops

from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._attention_mask_mixin import AttentionMaskMixin
from keras_transformer.layers._parts import PartsMixin
from keras_transformer.layers.dot_product_attention import masked_softmax
from keras_transformer.layers.record_attention import store_attention
from keras_transformer.masks import with_implicit_mask


class RecurrentAttention(PartsMixin, AttentionMaskMixin, keras.layers.Layer):
    """Attention with the scores that a subclass computes."""

    def call(
        self,
        queries: Tensor,
        values: Tensor,
        attention_mask: Tensor | None = None,
        start: Tensor | int = 0,
        values_mask: Tensor | None = None,
    ) -> Tensor:
        """Attends to the encoder output.

        Args:
            queries: decoder states, (B, T, any): all positions, or a single one with T = 1.
            values: encoder output, (B, S, E).
            attention_mask: boolean, broadcastable to (B, T, S); True = may attend.
            start: position of the first query, an integer or an int32 scalar.
            values_mask: implicit mask of `values`, (B, S), which Keras passes; hides them as well.

        Returns:
            The context vectors, (B, T, E); zeros for a query whose keys are all masked.
        """
        attention_mask = with_implicit_mask(attention_mask, values_mask)
        return self.attend(queries, self.project(values), values, attention_mask, start)

    def attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        attention_mask: Tensor | None = None,
        start: Tensor | int = 0,
    ) -> Tensor:
        """Attends with precomputed keys.

        Args:
            queries: decoder states, (B, T, any).
            keys: the result of `project`, which decoding computes once for all steps.
            values: encoder output, (B, S, E).
            attention_mask: boolean, broadcastable to (B, T, S); True = may attend.
            start: position of the first query, an integer or an int32 scalar.

        Returns:
            The context vectors, (B, T, E).
        """
        scores = self.scores(queries, keys)
        weights = self.attention_weights(queries, scores, attention_mask, start)
        store_attention(self, weights)
        return ops.matmul(ops.cast(weights, values.dtype), values)

    def attend_step(
        self,
        query: Tensor,
        memory: tuple[Tensor, Tensor],
        attention_mask: Tensor | None,
        position: Tensor | int,
    ) -> Tensor:
        """Attends from a single position.

        Args:
            query: decoder state, (B, any).
            memory: the keys and the values.
            attention_mask: boolean, broadcastable to (B, 1, S); True = may attend.
            position: position of the query, an integer or an int32 scalar.

        Returns:
            The context vector, (B, E).
        """
        query = ops.expand_dims(query, axis=1)
        return ops.squeeze(self.attend(query, *memory, attention_mask, position), axis=1)

    def project(self, values: Tensor) -> Tensor:
        """Computes the keys, the part of the scores that does not depend on the queries.

        Args:
            values: encoder output, (B, S, E).

        Returns:
            (B, S, any).
        """
        raise NotImplementedError

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Computes the attention scores before the softmax.

        Args:
            queries: decoder states, (B, T, any).
            keys: the result of `project`.

        Returns:
            (B, T, S).
        """
        raise NotImplementedError

    def attention_weights(
        self,
        queries: Tensor,
        scores: Tensor,
        attention_mask: Tensor | None = None,
        start: Tensor | int = 0,
    ) -> Tensor:
        """Computes the attention weights.

        Args:
            queries: decoder states, (B, T, any).
            scores: the result of `scores`, (B, T, S).
            attention_mask: boolean, broadcastable to (B, T, S); True = may attend.
            start: position of the first query, an integer or an int32 scalar.

        Returns:
            float32, (B, T, S).
        """
        return masked_softmax(scores, attention_mask)

    def _dense(self, units, name, activation=None):
        options = {"use_bias": False, "dtype": self.dtype_policy, "name": name}
        return keras.layers.Dense(units, activation, **options)

    def compute_output_shape(self, queries_shape: Shape, values_shape: Shape) -> Shape:
        return (*queries_shape[:-1], values_shape[-1])
