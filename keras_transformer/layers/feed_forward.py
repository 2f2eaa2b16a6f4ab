"""The position-wise feed-forward network."""

from collections.abc import Callable
from typing import Any, Self

import keras

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import PartsMixin, build_part
from keras_transformer.layers.dropout import Dropout
from keras_transformer.settings import BlockSettings, names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class FeedForward(PartsMixin, keras.layers.Layer):
    """The position-wise feed-forward network: two dense layers with an activation between them.

    Args:
        d_ff: size of the inner layer.
        d_model: size of the output.
        activation: activation of the inner layer, as accepted by `keras.activations.get`.
        rate: dropout rate of the inner layer.

    Raises:
        ValueError: if a size is not a positive integer or `rate` is not in [0, 1).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 2.

    Example:
        >>> ops.shape(kt.FeedForward(d_ff=32, d_model=8)(np.ones((2, 5, 8))))
        (2, 5, 8)
    """

    @names_ours
    def __init__(
        self,
        d_ff: int,
        d_model: int,
        activation: str | Callable[..., Any] = "relu",
        rate: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.d_ff, self.d_model = check_sizes(d_ff=d_ff, d_model=d_model)
        self.activation = activation
        self.rate = rate
        dtype = self.dtype_policy
        self.inner = keras.layers.Dense(self.d_ff, activation=activation, dtype=dtype, name="inner")
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")
        self.outer = keras.layers.Dense(self.d_model, dtype=dtype, name="outer")

    @classmethod
    def from_settings(cls, settings: BlockSettings, **kwargs: Any) -> Self:
        """Creates the layer from `BlockSettings`."""
        activation = settings.activation or "relu"
        return cls(settings.d_ff, settings.d_model, activation, settings.activation_rate, **kwargs)

    def build(self, x_shape: Shape) -> None:
        build_part(self.inner, x_shape)
        build_part(self.dropout, (*x_shape[:-1], self.d_ff))
        build_part(self.outer, (*x_shape[:-1], self.d_ff))
        self.built = True

    def call(self, x: Tensor) -> Tensor:
        """Applies the network to each position.

        Args:
            x: (..., any).

        Returns:
            (..., d_model).
        """
        return self.outer(self.dropout(self.inner(x)))

    def get_config(self) -> dict[str, Any]:
        sizes = {"d_ff": self.d_ff, "d_model": self.d_model}
        options = {"activation": self.activation, "rate": self.rate}
        return {**super().get_config(), **sizes, **options}

    def compute_output_shape(self, x_shape: Shape) -> Shape:
        return (*x_shape[:-1], self.d_model)
