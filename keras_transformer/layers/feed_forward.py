"""The position-wise feed-forward network."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Self

import keras

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.devices import jax_has_cuda
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import PartsMixin, build_part
from keras_transformer.layers.dropout import Dropout, apply_dropout
from keras_transformer.settings import BlockSettings, names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class FeedForward(PartsMixin, keras.layers.Layer):
    """The position-wise feed-forward network: two dense layers with an activation between them.

    With `gated`, a third dense layer, which then has the activation, is multiplied with the inner
    layer: SwiGLU with the activation "silu", GEGLU with "gelu".

    Args:
        d_ff: size of the inner layer.
        d_model: size of the output.
        activation: activation of the inner layer, as accepted by `keras.activations.get`.
        rate: dropout rate of the inner layer.
        gated: whether there is a gate.
        use_bias: whether the dense layers have biases.

    Raises:
        ValueError: if a size is not a positive integer or `rate` is not in [0, 1).

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 2;
        "GLU Variants Improve Transformer" (Shazeer, 2020), equation 6 (the gate).

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
        gated: bool = False,
        use_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.d_ff, self.d_model = check_sizes(d_ff=d_ff, d_model=d_model)
        self.activation = activation
        self.rate = rate
        self._gated = gated
        self._use_bias = use_bias
        if gated:
            self.gate = self._dense(self.d_ff, "gate", activation)
        self.inner = self._dense(self.d_ff, "inner", None if gated else activation)
        self.dropout = Dropout(rate, dtype=self.dtype_policy, name="dropout")
        self.outer = self._dense(self.d_model, "outer")

    def _dense(self, units, name, activation=None):
        options = {"use_bias": self._use_bias, "dtype": self.dtype_policy, "name": name}
        # On a GPU, recomputing "gelu" for its gradient pays: JAX would keep two more arrays
        # (..., d_ff). Other activations need none, and with a gate, recomputing costs more.
        recompute = activation == "gelu" and not self._gated and jax_has_cuda()
        with keras.RematScope("activations") if recompute else nullcontext():
            return keras.layers.Dense(units, activation, **options)

    @classmethod
    def from_settings(cls, settings: BlockSettings, **kwargs: Any) -> Self:
        """Creates the layer from `BlockSettings`."""
        activation = settings.activation or "relu"
        kwargs |= {"gated": settings.gated, "use_bias": settings.use_bias}
        return cls(settings.d_ff, settings.d_model, activation, settings.activation_rate, **kwargs)

    def build(self, x_shape: Shape) -> None:
        if self._gated:
            build_part(self.gate, x_shape)
        build_part(self.inner, x_shape)
        build_part(self.dropout, (*x_shape[:-1], self.d_ff))
        build_part(self.outer, (*x_shape[:-1], self.d_ff))
        self.built = True

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        """Applies the network to each position.

        Args:
            x: (..., any).
            training: whether dropout is active; None for the mode of the surrounding call.

        Returns:
            (..., d_model).
        """
        y = self.gate(x) * self.inner(x) if self._gated else self.inner(x)
        return self.outer(apply_dropout(self.dropout, y, training))

    def get_config(self) -> dict[str, Any]:
        sizes = {"d_ff": self.d_ff, "d_model": self.d_model}
        options = {"activation": self.activation, "rate": self.rate}
        blocks = {"gated": self._gated, "use_bias": self._use_bias}
        return {**super().get_config(), **sizes, **options, **blocks}

    def compute_output_shape(self, x_shape: Shape) -> Shape:
        return (*x_shape[:-1], self.d_model)
