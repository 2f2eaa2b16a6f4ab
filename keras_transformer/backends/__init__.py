"""Backend-specific code: the training step, compiled inference and device information."""

import keras


def backend_module():
    """Returns the module of the active backend.

    Each module has the class `TrainingStep` and the functions `change_detector`,
    `compile_inference`, `describe_device`, `distribution`, `make_deterministic` and `processes`.

    Raises:
        ValueError: if the backend has no such module.
    """
    backend = keras.config.backend()
    if backend == "tensorflow":
        from keras_transformer.backends import tensorflow

        return tensorflow
    if backend == "jax":
        from keras_transformer.backends import jax

        return jax
    if backend == "torch":
        from keras_transformer.backends import torch

        return torch
    raise ValueError(
        "Training and translating need TensorFlow, JAX or PyTorch: set KERAS_BACKEND to "
        f"tensorflow, jax or torch. Received: {backend}"
    )


def adam_class() -> type[keras.optimizers.Adam]:
    """Returns the fastest Adam class for the active backend: Keras's or a subclass."""
    if keras.config.backend() == "tensorflow":
        from keras_transformer.backends.fused_adam import FusedAdam

        return FusedAdam
    if keras.config.backend() == "torch":
        from keras_transformer.backends.torch_adam import InPlaceAdam

        if backend_module().describe_device().is_cpu:
            return InPlaceAdam
        # Instances have another class, which updates all variables together. On JAX, making one
        # would start its devices, and then several processes could no longer join.
        return type(keras.optimizers.Adam())
    return keras.optimizers.Adam
