"""The device that JAX compiles for."""

import functools

import keras


@functools.cache
def jax_has_cuda():
    """Returns whether JAX is the backend and computes on a GPU with CUDA.

    What is fast there is not what is fast on a CPU. The first call starts the devices.
    """
    if keras.config.backend() != "jax":
        return False
    return keras.distribution.list_devices()[0].startswith(("gpu", "cuda"))
