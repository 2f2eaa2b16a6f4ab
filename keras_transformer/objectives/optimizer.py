"""The optimizer."""

import keras

from keras_transformer.backends import adam_class


@keras.saving.register_keras_serializable(package="keras_transformer")
class Adam(adam_class()):
    """Keras's Adam, faster on TensorFlow.

    There each update of a variable is one operation instead of a dozen. With Keras's Adam a
    training step takes 8.3% ± 3.6% longer (small preset, bfloat16, one core of a Xeon with AMX, ten
    paired runs of `benchmarks/training.py`).

    Args:
        *args, **kwargs: as of `keras.optimizers.Adam`.

    References:
        "Adam: A Method for Stochastic Optimization" (Kingma and Ba, 2015), section 2.
    """
