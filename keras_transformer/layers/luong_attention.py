"""Luong attention, global and local."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_choice, check_optional_size
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._recurrent_attention import RecurrentAttention
from keras_transformer.layers.additive_attention import AdditiveAttention
from keras_transformer.layers.dot_product_attention import masked_softmax
from keras_transformer.masks import combine_masks
from keras_transformer.settings import names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class LuongAttention(RecurrentAttention):
    """Luong attention: multiplicative or additive scores, global or local.

    Shape letters: B batch, T target length, S source length, E size of the encoder output.

    Args:
        score: score of the encoder output h for the decoder state s: "dot", sᵀh, which requires
            equal sizes; "general", sᵀWh; or "concat", vᵀtanh(W[s; h]).
        window: D, for local attention: a query attends to the positions at most D away from its
            center p. None for global attention.
        alignment: the center of the window. "monotonic" (local-m) is the position of the query,
            p = t; a query more than D positions past the end of the source attends to nothing.
            "predictive" (local-p) is p = S·sigmoid(vᵀtanh(Ws)), where S is the source length
            without trailing padding; the weights are then multiplied by a Gaussian around p with
            σ = D/2, so they sum to less than 1.
        scale: whether to divide the scores "dot" and "general" by the square root of the query
            size, as the Transformer does. The paper does not; its softmax then saturates early in
            training.

    Raises:
        ValueError: if `score` or `alignment` is unknown, `window` is neither None nor a positive
            integer, `alignment="predictive"` has no window, or `score="dot"` is applied to vectors
            of different sizes.

    References:
        "Effective Approaches to Attention-based Neural Machine Translation" (Luong et al., 2015),
        equations 7 to 10.

    Example:
        >>> attention = kt.LuongAttention("dot", window=1)
        >>> states = np.zeros((1, 3, 1))  # equal scores
        >>> encoder_output = np.array([[[1.0], [2.0], [3.0]]])
        >>> ops.convert_to_numpy(attention(states, encoder_output)).squeeze()
        array([1.5, 2. , 2.5], dtype=float32)
    """

    @names_ours
    def __init__(
        self,
        score: str = "general",
        window: int | None = None,
        alignment: str = "monotonic",
        scale: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice(("dot", "general", "concat"), score=score)
        check_choice(("monotonic", "predictive"), alignment=alignment)
        self.window = check_optional_size(window=window)
        if window is None and alignment == "predictive":
            raise ValueError('`alignment="predictive"` requires a `window`. Received: window=None')
        self.score = score
        self.alignment = alignment
        self.scale = scale

    def build(self, queries_shape: Shape, values_shape: Shape) -> None:
        # The sub-layers are created here because their size is that of the queries.
        size = queries_shape[-1]
        if self.score == "dot" and size != values_shape[-1]:
            raise ValueError(
                '`score="dot"` needs queries and values of the same size: use `score="general"`. '
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

    def project(self, values: Tensor) -> Tensor:
        """Computes the keys: Wh, or h itself for the score "dot"."""
        if self.score == "concat":
            return self.additive.project(values)
        return self.key_projection(values) if self.score == "general" else values

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Computes the scores before the softmax, (B, T, S)."""
        if self.score == "concat":
            return self.additive.scores(queries, keys)
        if self.scale:
            queries = queries / queries.shape[-1] ** 0.5
        return ops.einsum("...td,...sd->...ts", queries, keys)

    def attention_weights(
        self,
        queries: Tensor,
        scores: Tensor,
        attention_mask: Tensor | None = None,
        start: Tensor | int = 0,
    ) -> Tensor:
        if self.window is None:
            return masked_softmax(scores, attention_mask)
        positions = ops.arange(ops.shape(scores)[-1], dtype="float32")
        distances = positions - self._centers(queries, positions, attention_mask, start)
        in_window = ops.abs(distances) <= self.window
        weights = masked_softmax(scores, combine_masks(attention_mask, in_window))
        if self.alignment == "predictive":
            weights = weights * ops.exp(-2 * ops.square(distances / self.window))
        return weights

    def _centers(self, queries, positions, attention_mask, start):
        """Returns p of each query, float32, broadcastable to (B, T, 1)."""
        if self.alignment == "monotonic":
            query_positions = start + ops.arange(ops.shape(queries)[1])
            return ops.cast(ops.expand_dims(query_positions, 1), "float32")
        length = ops.cast(ops.shape(positions)[0], "float32")
        if attention_mask is not None:  # the last position that may be attended to, plus 1
            ends = ops.where(attention_mask, positions + 1, 0.0)
            length = ops.max(ends, axis=-1, keepdims=True)
        return length * ops.cast(self.position(self.position_hidden(queries)), "float32")

    def get_config(self) -> dict[str, Any]:
        choices = {"score": self.score, "window": self.window, "alignment": self.alignment}
        return {**super().get_config(), **choices, "scale": self.scale}
