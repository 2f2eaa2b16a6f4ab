"""Choosing the step for the backend."""

import keras


def backend_module():
    """The module of the active backend's step.

    Each has the class `TrainingStep` and the functions `describe_device` and `make_deterministic`.

    Raises:
        ValueError: if there is no step for the backend.
    """
    backend = keras.config.backend()
    if backend == "tensorflow":
        from keras_transformer.training import tensorflow_step

        return tensorflow_step
    if backend == "jax":
        from keras_transformer.training import jax_step

        return jax_step
    raise ValueError(
        "Training runs on TensorFlow or JAX: set KERAS_BACKEND to one of them, or use model.fit. "
        f"Received: {backend}"
    )
