"""The device that JAX compiles for."""

import functools

import keras


@functools.cache
def jax_has_cuda():
    """Returns whether JAX computes on a CUDA device; the first call starts the devices."""
    if keras.config.backend() != "jax":
        return False
    return keras.distribution.list_devices()[0].startswith(("gpu", "cuda"))
