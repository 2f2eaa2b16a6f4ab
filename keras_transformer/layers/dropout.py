"""Dropout."""

import keras
from keras import ops

from keras_transformer.checks import check_rate

_LEVELS = 2**16


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dropout(keras.layers.Dropout):
    """Sets a share of the inputs to zero and scales the others up, so that their mean stays.

    What `keras.layers.Dropout` does, but each random number of 32 bits decides about two inputs,
    for drawing one for each took a tenth of a small model's training step on a processor. The rate
    is rounded to 16 bits in every precision; Keras's on TensorFlow, to 7 bits in bfloat16.

    Args:
        rate: the share, in [0, 1).
        **kwargs: as of `keras.layers.Dropout`.

    Raises:
        ValueError: if `rate` is not in [0, 1).

    References:
        "Dropout: A Simple Way to Prevent Neural Networks from Overfitting" (Srivastava et al.,
        2014), section 4; scaled while training, not afterwards.
    """

    def __init__(self, rate, **kwargs):
        check_rate(rate=rate)
        super().__init__(rate, **kwargs)

    def call(self, inputs, training=False):
        """(..., any) -> the same shape."""
        if not training or self.rate == 0:
            return inputs
        if self.noise_shape is not None or len(inputs.shape) == 0:
            return super().call(inputs, training)
        *others, width = ops.shape(inputs)
        half = (*others, (width + 1) // 2)
        pairs = keras.random.randint(half, -(2**31), 2**31 - 1, seed=self.seed_generator)
        dropped = min(round(self.rate * _LEVELS), _LEVELS - 1)  # of the levels
        # The low 16 bits decide about the first half of the inputs, the high ones about the rest.
        low = ops.bitwise_and(pairs, _LEVELS - 1) >= dropped
        high = pairs >= (dropped - _LEVELS // 2) * _LEVELS
        kept = ops.concatenate([low, high], axis=-1)[..., :width]
        scale = ops.cast(_LEVELS / (_LEVELS - dropped), inputs.dtype)
        return inputs * (ops.cast(kept, inputs.dtype) * scale)
