"""A recurrent model for time series."""

from typing import Any

import keras
import numpy as np

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import build_further_layers
from keras_transformer.layers.sequence_attention import SequenceAttention


@keras.saving.register_keras_serializable(package="keras_transformer")
class Forecaster(keras.Model):
    """A recurrent model that predicts the next value of a time series.

    A `SimpleRNN` reads the series. A dense layer computes the prediction from its last state or,
    with attention, from the attention-weighted sum of all states.

    Shape letters: B batch, T = steps.

    Args:
        units: size of the recurrent state.
        steps: number of input values, T.
        attention: whether to attend to all states instead of using the last one.

    Raises:
        ValueError: if a size is not a positive integer.

    Example:
        >>> model = kt.Forecaster(units=8, steps=20, attention=True)
        >>> ops.shape(model(np.zeros((4, 20, 1), "float32")))
        (4, 1)
    """

    def __init__(self, units: int, steps: int, attention: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.steps = check_sizes(units=units, steps=steps)
        self.attention = attention
        dtype = self.dtype_policy
        self.recurrent = keras.layers.SimpleRNN(
            self.units, return_sequences=attention, dtype=dtype, name="recurrent"
        )
        if attention:
            self.pooling = SequenceAttention(self.steps, dtype=dtype, name="pooling")
        self.output_layer = keras.layers.Dense(1, dtype=dtype, name="output_layer")

    def build(self, input_shape: Any) -> None:
        self.recurrent.build(input_shape)
        if self.attention:
            self.pooling.build(self.recurrent.compute_output_shape(input_shape))
        self.output_layer.build((input_shape[0], self.units))
        self.built = True
        build_further_layers(self, np.zeros((1, self.steps, 1), "float32"))

    def call(self, x: Tensor) -> Tensor:
        """Predicts the next value of each series: floats, (B, T, 1) -> (B, 1)."""
        x = self.recurrent(x)
        if self.attention:
            x = self.pooling(x)
        return self.output_layer(x)

    def get_config(self) -> dict[str, Any]:
        arguments = {"units": self.units, "steps": self.steps, "attention": self.attention}
        return {**super().get_config(), **arguments}

    def compute_output_shape(self, input_shape: Any) -> Shape:
        return (input_shape[0], 1)
