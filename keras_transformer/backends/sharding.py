"""Sharding of a Transformer's weights over the devices of one process (JAX only).

The attention heads, the hidden units of the feed-forward networks and the words of the vocabularies
are sharded; everything between them is on all devices. So each attention layer and each
feed-forward network needs one sum over the devices, as in "Megatron-LM: Training Multi-Billion
Parameter Language Models Using Model Parallelism" (Shoeybi et al., 2019), section 3.
"""

import keras

ROWS, MODEL = "rows", "model"  # axes of the device mesh
_AXES = {
    r".*/(query|key|value)_projection/kernel": (None, MODEL),
    r".*/(query|key|value)_projection/bias": (MODEL,),
    r".*/output_projection/kernel": (MODEL, None),
    r".*/feed_forward/(inner|gate)/kernel": (None, MODEL),
    r".*/feed_forward/(inner|gate)/bias": (MODEL,),
    r".*/feed_forward/outer/kernel": (MODEL, None),
    r".*/words/embeddings": (MODEL, None),
    r"[^/]+/projection/kernel": (None, MODEL),
    r"[^/]+/(projection/)?bias": (MODEL,),
}


def model_parallel_distribution(devices, size):
    """Returns the `keras.distribution.ModelParallel` that shards a Transformer's weights.

    The variables of a model and an optimizer that are created in its `scope()` are sharded.

    Args:
        devices: the names of all devices, see `keras.distribution.list_devices`.
        size: number of devices that share the weights. The rows of a batch are sharded over groups
            of this size.

    Raises:
        ValueError: if `size` does not divide the number of devices.
    """
    if len(devices) % size:
        raise ValueError(
            "The number of devices must be a multiple of --model-parallel. "
            f"Received: {size} of {len(devices)} devices"
        )
    shape = (len(devices) // size, size)
    mesh = keras.distribution.DeviceMesh(shape, (ROWS, MODEL), devices)
    layout_map = keras.distribution.LayoutMap(mesh)
    for path, axes in _AXES.items():
        layout_map[path] = axes
    return keras.distribution.ModelParallel(layout_map=layout_map, batch_dim_name=ROWS)


def refuse_model_parallel(size):
    """Raises a ValueError if weights are to be sharded on a backend that cannot.

    Args:
        size: number of devices that share the weights.
    """
    if size != 1:
        raise ValueError(
            "Only JAX shards the weights over several devices: set KERAS_BACKEND=jax, or leave out "
            f"--model-parallel. Received: {size} on {keras.config.backend()}"
        )
