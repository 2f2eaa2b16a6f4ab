"""Residual connection with dropout and layer normalization."""

from typing import Any, Self

import keras

from keras_transformer._utils.checks import check_choice, check_positive
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import PartsMixin, build_part
from keras_transformer.layers.dropout import Dropout, apply_dropout
from keras_transformer.layers.layer_normalization import make_normalization
from keras_transformer.settings import EPSILON, NORMALIZATIONS, BlockSettings, names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class AddNormalization(PartsMixin, keras.layers.Layer):
    """Dropout, residual connection and layer normalization around a sub-layer.

    Post-norm, as in the paper, computes norm(x + dropout(f(x))). Pre-norm, which trains more
    easily, computes x + dropout(f(norm(x))). The call is the same for both:

        x = add_norm(x, f(add_norm.sublayer_input(x)))

    Args:
        rate: dropout rate of the sub-layer's output.
        norm_first: whether to normalize the input of the sub-layer (pre-norm) instead of the
            residual sum (post-norm).
        epsilon: number added to the variance.
        normalization: "layer", or "rms" for `keras.layers.RMSNormalization`.

    Raises:
        ValueError: if `rate` is not in [0, 1), `epsilon` is not positive or `normalization` is
            unknown.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), sections 3.1 and 5.4;
        "On Layer Normalization in the Transformer Architecture" (Xiong et al., 2020), table 1;
        "Root Mean Square Layer Normalization" (Zhang and Sennrich, 2019), equation 4.

    Example:
        >>> add_norm, feed_forward = kt.AddNormalization(rate=0.1), kt.FeedForward(32, 8)
        >>> x = np.ones((2, 5, 8), "float32")
        >>> ops.shape(add_norm(x, feed_forward(add_norm.sublayer_input(x))))
        (2, 5, 8)
    """

    @names_ours
    def __init__(
        self,
        rate: float = 0.0,
        norm_first: bool = False,
        epsilon: float = EPSILON,
        normalization: str = "layer",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive(epsilon=epsilon)
        check_choice(NORMALIZATIONS, normalization=normalization)
        self.supports_masking = True
        self.rate = rate
        self.norm_first = norm_first
        self.epsilon = epsilon
        self._kind = normalization
        dtype = self.dtype_policy
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")
        # In pre-norm the norm has its own place in figures, so its name contains this layer's.
        name = f"{self.name}_before" if norm_first else "norm"
        self.normalization = make_normalization(normalization, epsilon, dtype=dtype, name=name)

    @classmethod
    def from_settings(cls, settings: BlockSettings, **kwargs: Any) -> Self:
        """Creates the layer from `BlockSettings`."""
        epsilon = EPSILON if settings.epsilon is None else settings.epsilon
        kwargs["normalization"] = settings.normalization
        return cls(settings.rate, bool(settings.norm_first), epsilon, **kwargs)

    def build(self, x_shape: Shape, sublayer_output_shape: Shape | None = None) -> None:
        build_part(self.dropout, x_shape)
        build_part(self.normalization, x_shape)
        self.built = True

    def sublayer_input(self, x: Tensor) -> Tensor:
        """Returns the input of the sub-layer.

        Args:
            x: (..., D).

        Returns:
            `x`, (..., D), normalized if `norm_first`.
        """
        if not self.norm_first:
            return x
        # In a functional model, the norm must not be a layer of the graph, which would be saved
        # beside this one.
        return self(x) if isinstance(x, keras.KerasTensor) else self.normalization(x)

    def call(
        self, x: Tensor, sublayer_output: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Adds the output of the sub-layer to `x`.

        Args:
            x: the residual, (..., D): the value passed to `sublayer_input`.
            sublayer_output: output of the sub-layer, (..., D); None for the normalized `x` alone.
            training: whether dropout is active; None for the mode of the surrounding call.

        Returns:
            (..., D), normalized unless `norm_first`.
        """
        if sublayer_output is None:
            return self.normalization(x)
        x = x + apply_dropout(self.dropout, sublayer_output, training)
        return x if self.norm_first else self.normalization(x)

    def get_config(self) -> dict[str, Any]:
        config = {"rate": self.rate, "norm_first": self.norm_first, "epsilon": self.epsilon}
        return {**super().get_config(), **config, "normalization": self._kind}

    def compute_output_shape(
        self, x_shape: Shape, sublayer_output_shape: Shape | None = None
    ) -> Shape:
        return x_shape
