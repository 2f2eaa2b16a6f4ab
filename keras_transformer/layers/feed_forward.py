"""The position-wise feed-forward network."""

import keras

from keras_transformer.checks import check_sizes


@keras.saving.register_keras_serializable(package="keras_transformer")
class FeedForward(keras.layers.Layer):
    """Two dense layers with an activation between them, the same at every position.

    Args:
        d_ff: size of the inner layer.
        d_model: size of the output.
        activation: activation of the inner layer, whatever `keras.activations.get` takes.

    Raises:
        ValueError: if a size is not a positive integer.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 2.
    """

    def __init__(self, d_ff, d_model, activation="relu", **kwargs):
        super().__init__(**kwargs)
        check_sizes(d_ff=d_ff, d_model=d_model)
        self.d_ff = d_ff
        self.d_model = d_model
        self.activation = activation
        dtype = self.dtype_policy
        self.inner = keras.layers.Dense(d_ff, activation=activation, dtype=dtype, name="inner")
        self.outer = keras.layers.Dense(d_model, dtype=dtype, name="outer")

    def build(self, x_shape):
        self.inner.build(x_shape)
        self.outer.build((*x_shape[:-1], self.d_ff))
        self.built = True

    def call(self, x):
        """(..., any) -> (..., d_model)."""
        return self.outer(self.inner(x))

    def get_config(self):
        config = {"d_ff": self.d_ff, "d_model": self.d_model, "activation": self.activation}
        return {**super().get_config(), **config}

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.d_model)
