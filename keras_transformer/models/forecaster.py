"""The recurrent forecaster of series."""

import keras

from keras_transformer._utils.checks import check_sizes
from keras_transformer.layers.sequence_attention import SequenceAttention


@keras.saving.register_keras_serializable(package="keras_transformer")
class Forecaster(keras.Model):
    """Foretells the next number of a series from the numbers before it.

    A simple recurrent layer reads them. A dense layer reads its last state or, with attention, the
    weighted sum of its states.

    Shape letters: B batch, T = steps.

    Args:
        units: size of the recurrent state.
        steps: how many numbers it reads, T.
        attention: whether to attend to all states instead of reading the last one.

    Raises:
        ValueError: if a size is not a positive integer.
    """

    def __init__(self, units, steps, attention=False, **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units, steps=steps)
        self.units = units
        self.steps = steps
        self.attention = attention
        dtype = self.dtype_policy
        self.recurrent = keras.layers.SimpleRNN(
            units, return_sequences=attention, dtype=dtype, name="recurrent"
        )
        self.pooling = keras.layers.Identity(dtype=dtype, name="pooling")
        if attention:
            self.pooling = SequenceAttention(steps, dtype=dtype, name="pooling")
        self.output_layer = keras.layers.Dense(1, dtype=dtype, name="output_layer")

    def build(self, input_shape):
        self.recurrent.build(input_shape)
        states_shape = self.recurrent.compute_output_shape(input_shape)
        self.pooling.build(states_shape)
        self.output_layer.build((input_shape[0], self.units))
        self.built = True

    def call(self, x):
        """(B, T, 1) numbers -> (B, 1), the next one of each."""
        return self.output_layer(self.pooling(self.recurrent(x)))

    def get_config(self):
        arguments = {"units": self.units, "steps": self.steps, "attention": self.attention}
        return {**super().get_config(), **arguments}

    def compute_output_shape(self, input_shape):
        return (input_shape[0], 1)
