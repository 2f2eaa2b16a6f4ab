"""Code for one backend each: the training step, compiled inference, devices."""

import keras


def backend_module():
    """The module of the active backend.

    Each has the class `TrainingStep` and the functions `compile_inference`, `describe_device`,
    `distribution`, `make_deterministic` and `processes`.

    Raises:
        ValueError: if there is none for the backend.
    """
    backend = keras.config.backend()
    if backend == "tensorflow":
        from keras_transformer.backends import tensorflow

        return tensorflow
    if backend == "jax":
        from keras_transformer.backends import jax

        return jax
    raise ValueError(
        "Training and translating run on TensorFlow or JAX: set KERAS_BACKEND to one of them. "
        f"Layers, models and model.fit run on others as well. Received: {backend}"
    )


def adam_class():
    """The class of Adam that is fastest on the active backend: Keras's, or one of its kind."""
    if keras.config.backend() == "tensorflow":
        from keras_transformer.backends.fused_adam import FusedAdam

        return FusedAdam
    return keras.optimizers.Adam
