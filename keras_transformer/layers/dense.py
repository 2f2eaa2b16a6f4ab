"""The dense layer of earlier versions."""

import warnings

import keras


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dense(keras.layers.Dense):
    """`keras.layers.Dense`, by the name of a faster one that earlier versions had.

    With oneDNN Keras's is as fast (see docs/benchmarks.md), so use that one. This name remains for
    files that hold it, and will go in a later version.

    Args:
        *args, **kwargs: as of `keras.layers.Dense`.
    """

    def __init__(self, *args, **kwargs):
        warnings.warn(
            "keras_transformer.Dense is deprecated: use keras.layers.Dense.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)
