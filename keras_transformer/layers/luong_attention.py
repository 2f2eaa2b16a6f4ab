"""Luong's attention, global and local."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_choice, check_sizes, given
from keras_transformer.layers._recurrent_attention import RecurrentAttention
from keras_transformer.layers.additive_attention import AdditiveAttention
from keras_transformer.layers.dot_product_attention import masked_softmax
from keras_transformer.masks import combine_masks


@keras.saving.register_keras_serializable(package="keras_transformer")
class LuongAttention(RecurrentAttention):
    """Weighs vectors by one of three scores: all of them, or those in a window.

    Shape letters: B batch, T target length, S source length, E size of the source's vectors.

    Args:
        score: "dot", sᵀh, for a query s and a vector h of one size; "general", sᵀWh; or "concat",
            vᵀtanh(W[s; h]).
        window: D: a query attends to the positions at most D from its centre p, which are 2D + 1
            at most. None: to all (global attention).
        alignment: where the centre is. "monotonic" (local-m): at the query's own position, p = t;
            a query beyond the source's end by more than D attends to nothing. "predictive"
            (local-p): p = S·sigmoid(vᵀtanh(Ws)), where S is the length without padding at the end;
            the weights are then multiplied by a Gaussian around p with σ = D/2, and sum to less
            than 1.
        scale: whether to divide the scores "dot" and "general" by the root of the query's size, as
            the transformer does. The paper does not: its scores grow so large that the softmax soon
            chooses one word, and learns no more.

    Raises:
        ValueError: if `score` or `alignment` is unknown, `window` is neither None nor a positive
            integer, a position is to be predicted without a window, or the sizes differ that a
            score "dot" wants equal.

    References:
        "Effective Approaches to Attention-based Neural Machine Translation" (Luong et al., 2015),
        equations 7 to 10.
    """

    def __init__(self, score="general", window=None, alignment="monotonic", scale=False, **kwargs):
        super().__init__(**kwargs)
        check_choice(("dot", "general", "concat"), score=score)
        check_choice(("monotonic", "predictive"), alignment=alignment)
        check_sizes(**given(window=window))
        if window is None and alignment == "predictive":
            raise ValueError(
                "Give a `window` around the position that is predicted. Received: window=None"
            )
        self.score = score
        self.window = window
        self.alignment = alignment
        self.scale = scale

    def build(self, queries_shape, values_shape):
        size = queries_shape[-1]  # of W and v, which is known only now
        if self.score == "dot" and size != values_shape[-1]:
            raise ValueError(
                'The score "dot" wants queries and values of one size: choose "general". '
                f"Received: {size} and {values_shape[-1]}"
            )
        if self.score == "general":
            self.key_projection = self._dense(size, "key_projection")
            self.key_projection.build(values_shape)
        if self.score == "concat":
            self.additive = AdditiveAttention(size, dtype=self.dtype_policy, name="additive")
            self.additive.build(queries_shape, values_shape)
        if self.alignment == "predictive":
            self.position_hidden = self._dense(size, "position_hidden", "tanh")
            self.position_hidden.build(queries_shape)
            self.position = self._dense(1, "position", "sigmoid")
            self.position.build(queries_shape)
        self.built = True

    def project(self, values):
        """What of the scores needs no query: Wh, or h itself."""
        if self.score == "concat":
            return self.additive.project(values)
        return self.key_projection(values) if self.score == "general" else values

    def scores(self, queries, keys):
        """(B, T, any) queries and the keys of `project` -> (B, T, S)."""
        if self.score == "concat":
            return self.additive.scores(queries, keys)
        if self.scale:
            queries = queries / queries.shape[-1] ** 0.5
        return ops.einsum("...td,...sd->...ts", queries, keys)

    def weigh(self, queries, scores, attention_mask=None, start=0):
        """The weights, float32 (B, T, S), that follow from the scores (B, T, S)."""
        if self.window is None:
            return masked_softmax(scores, attention_mask)
        positions = ops.arange(ops.shape(scores)[-1], dtype="float32")
        distances = positions - self._centres(queries, positions, attention_mask, start)
        near = ops.abs(distances) <= self.window
        weights = masked_softmax(scores, combine_masks(attention_mask, near))
        if self.alignment == "predictive":
            weights = weights * ops.exp(-2 * ops.square(distances / self.window))
        return weights

    def _centres(self, queries, positions, attention_mask, start):
        """p of each query, float32, broadcastable to (B, T, 1)."""
        if self.alignment == "monotonic":
            own = start + ops.arange(ops.shape(queries)[1])
            return ops.cast(ops.expand_dims(own, 1), "float32")
        length = ops.cast(ops.shape(positions)[0], "float32")
        if attention_mask is not None:  # up to the last open position
            open_to = ops.where(attention_mask, positions + 1, 0.0)
            length = ops.max(open_to, axis=-1, keepdims=True)
        return length * ops.cast(self.position(self.position_hidden(queries)), "float32")

    def get_config(self):
        choices = {"score": self.score, "window": self.window, "alignment": self.alignment}
        return {**super().get_config(), **choices, "scale": self.scale}
