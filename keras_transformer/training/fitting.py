"""Batches for `keras.Model.fit`."""

import keras

from keras_transformer.backends import backend_module


def as_dataset(batches):
    """Returns batches in the form that `keras.Model.fit` trains on fastest.

    On TensorFlow, `fit` on a `keras.utils.PyDataset` becomes up to twice as slow where oneDNN is
    off: it uses `tf.data.Dataset.from_generator`, which changes how memory is allocated. What is
    returned here does not. It shuffles by itself, anew in each epoch.

    Args:
        batches: a `keras.utils.PyDataset`, such as `PreparedDataset.batches` returns.

    Returns:
        A `tf.data.Dataset` on TensorFlow; on other backends the batches themselves.

    Example:
        batches = dataset.batches(dataset.train, batch_size=64, seed=0)
        model.fit(kt.as_dataset(batches), epochs=5, shuffle=False)
    """
    if keras.config.backend() != "tensorflow":
        return batches
    return backend_module().as_dataset(batches)
