"""Batches for `keras.Model.fit`."""

from typing import Any

import keras

from keras_transformer.backends import backend_module


def as_dataset(batches: keras.utils.PyDataset) -> Any:
    """Converts batches to the form on which `keras.Model.fit` trains fastest.

    On TensorFlow with oneDNN off, `fit` on a `keras.utils.PyDataset` is up to twice as slow. It
    uses `tf.data.Dataset.from_generator`, which changes the memory allocation of the process; the
    dataset returned here does not. It calls `on_epoch_end` after each epoch, which reshuffles
    batches made with a seed, so pass `shuffle=False` to `fit`.

    Args:
        batches: a `keras.utils.PyDataset`, such as `PreparedDataset.batches` returns.

    Returns:
        A `tf.data.Dataset` on TensorFlow; on other backends `batches` itself.

    Example:
        batches = dataset.batches(dataset.train, batch_size=64, seed=0)
        model.fit(kt.as_dataset(batches), epochs=5, shuffle=False)
    """
    if keras.config.backend() != "tensorflow":
        return batches
    return backend_module().as_dataset(batches)
