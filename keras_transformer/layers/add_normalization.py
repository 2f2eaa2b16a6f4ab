"""The residual connection around a sub-layer."""

import keras

from keras_transformer._utils.deprecation import renamed_method
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.settings import EPSILON


@keras.saving.register_keras_serializable(package="keras_transformer")
class AddNormalization(keras.layers.Layer):
    """Dropout, residual connection and layer normalisation around a sub-layer.

    Post-norm, as in the paper, computes norm(x + dropout(f(x))); pre-norm, which trains more
    easily, computes x + dropout(f(norm(x))). Both are written the same way around a sub-layer f:

        x = add_norm(x, f(add_norm.sublayer_input(x)))

    Args:
        rate: dropout rate of the sub-layer's output.
        norm_first: whether to normalise what the sub-layer reads (pre-norm) instead of the sum.
        epsilon: what the norm adds to the variance.

    Raises:
        ValueError: if `rate` is not in [0, 1) or `epsilon` is not positive.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), sections 3.1 and 5.4;
        "On Layer Normalization in the Transformer Architecture" (Xiong et al., 2020), table 1.
    """

    def __init__(self, rate, norm_first=False, epsilon=EPSILON, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.norm_first = norm_first
        self.epsilon = epsilon
        dtype = self.dtype_policy
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")
        # Its name holds this layer's, for in pre-norm it is a row of its own in `summary()`.
        self.normalization = LayerNormalization(
            epsilon=epsilon, dtype=dtype, name=f"{self.name}_before" if norm_first else "norm"
        )

    @classmethod
    def from_settings(cls, settings, **kwargs):
        """The part of a block with `BlockSettings`."""
        return cls(settings.rate, settings.norm_first, settings.epsilon, **kwargs)

    def build(self, x_shape, sublayer_output_shape):
        self.dropout.build(sublayer_output_shape)
        self.normalization.build(x_shape)
        self.built = True

    def sublayer_input(self, x):
        """What the sub-layer reads: `x` normalised (pre-norm) or as it is (post-norm)."""
        return self.normalization(x) if self.norm_first else x

    before = renamed_method("before", "sublayer_input")

    def call(self, x, sublayer_output):
        """Adds the sub-layer's output to its input.

        Args:
            x: what came before the sub-layer, (..., D).
            sublayer_output: the sub-layer's output, (..., D).

        Returns:
            (..., D), normalised unless `norm_first`.
        """
        x = x + self.dropout(sublayer_output)
        return x if self.norm_first else self.normalization(x)

    def get_config(self):
        config = {"rate": self.rate, "norm_first": self.norm_first, "epsilon": self.epsilon}
        return {**super().get_config(), **config}

    def compute_output_shape(self, x_shape, sublayer_output_shape):
        return x_shape
