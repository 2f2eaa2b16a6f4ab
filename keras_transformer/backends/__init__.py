"""Code for one backend each: the training step, compiled inference, devices."""

import keras


def backend_module():
    """The module of the active backend.

    Each has the class `TrainingStep` and the functions `compile_inference`, `describe_device`,
    `distribution`, `make_deterministic` and `processes`; TensorFlow's has `update_adam`, too.

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
