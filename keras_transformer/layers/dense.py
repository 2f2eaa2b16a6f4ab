"""The dense layer of earlier versions."""

import keras

from keras_transformer._utils.deprecation import warn_deprecated


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dense(keras.layers.Dense):
    """`keras.layers.Dense`, by the name of a faster one that earlier versions had.

    With oneDNN Keras's is as fast (see docs/benchmarks.md), so use that one. This name remains for
    files that hold it, and will go in a later version.

    Args:
        *args, **kwargs: as of `keras.layers.Dense`.
    """

    def __init__(self, *args, **kwargs):
        warn_deprecated("keras_transformer.Dense is deprecated: use keras.layers.Dense.")
        super().__init__(*args, **kwargs)
