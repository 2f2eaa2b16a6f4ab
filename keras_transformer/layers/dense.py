"""A deprecated name of the dense layer."""

from typing import Any

import keras

from keras_transformer._utils.deprecation import warn_deprecated


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dense(keras.layers.Dense):
    """Deprecated alias of `keras.layers.Dense`.

    Earlier versions had a faster implementation; with oneDNN, Keras's is as fast (see
    docs/benchmarks.md). The name remains so that files saved with it can be loaded, and will be
    removed in a later version.

    Args:
        *args, **kwargs: see `keras.layers.Dense`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_deprecated("keras_transformer.Dense is deprecated: use keras.layers.Dense.")
        super().__init__(*args, **kwargs)
