"""What the attentions of recurrent decoders have in common."""

import keras
from keras import ops

from keras_transformer.layers.dot_product_attention import masked_softmax, weighted_sum


class RecurrentAttention(keras.layers.Layer):
    """Weighs the source's vectors by the scores that a subclass gives them, and adds them up."""

    def call(self, queries, values, attention_mask=None, start=0):
        """Attends.

        Args:
            queries: the decoder's states, (B, T, any): all of them together, or one with T = 1.
            values: the source's vectors, (B, S, E).
            attention_mask: boolean, broadcastable to (B, T, S); True = may attend.
            start: position of the first query, an integer or an int32 scalar.

        Returns:
            The context of each query, (B, T, E): zeros for a query that may attend to nothing.
        """
        return self.attend(queries, self.project(values), values, attention_mask, start)

    def attend(self, queries, keys, values, attention_mask=None, start=0):
        """As `call`, given the keys that `project` has made of the values once for all steps."""
        weights = self.weigh(queries, self.scores(queries, keys), attention_mask, start)
        return weighted_sum(self, weights, values)

    def attend_once(self, query, memory, attention_mask, position):
        """The context of the one query at a position, (B, any) -> (B, E); the memory holds keys and
        values."""
        query = ops.expand_dims(query, axis=1)
        return ops.squeeze(self.attend(query, *memory, attention_mask, position), axis=1)

    def project(self, values):
        """The keys of the values (B, S, E): the part of the scores that needs no query."""
        raise NotImplementedError

    def scores(self, queries, keys):
        """How well each key suits each query, (B, T, S)."""
        raise NotImplementedError

    def weigh(self, queries, scores, attention_mask=None, start=0):
        """The weights, float32 (B, T, S), that follow from the scores (B, T, S)."""
        return masked_softmax(scores, attention_mask)

    def _dense(self, units, name, activation=None):
        options = {"use_bias": False, "dtype": self.dtype_policy, "name": name}
        return keras.layers.Dense(units, activation, **options)

    def compute_output_shape(self, queries_shape, values_shape):
        return (*queries_shape[:-1], values_shape[-1])
