"""The law that every layer obeys.

A layer is handed over as `make`, a function from keyword arguments of `keras.layers.Layer` to a new
layer, and `inputs`, a dictionary from the names of the arguments of `call` to NumPy arrays whose
first axis is the batch. Boolean arrays are masks.
"""

import json
import os
import re
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import ops

BAD_SIZES = (0, -1, 2.0, True)
BAD_RATES = (1, 1.0, -0.1)
HALF_POLICIES = {"mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}


def check_layer(make, inputs, still=()):
    """Checks one layer against everything but `check_saved`, which is done for many at once.

    Args:
        make: function from keyword arguments to a new layer.
        inputs: dictionary from argument names to arrays.
        still: ends of the paths of trainable weights whose gradient is zero by nature.
    """
    check_build(make, inputs)
    check_shape_and_dtype(make, inputs)
    check_config(make, inputs)
    check_half_precision(make, inputs)
    check_training(make, inputs, still)


def check_build(make, inputs):
    """The layer has the same weights, all of them, whether it is built or called."""
    called = make()
    assert not called.built or not called.weights
    called(**inputs)
    assert called.built
    built = make()
    first_inputs = [x.shape for x in inputs.values() if x.dtype != bool]
    built.build(*first_inputs)
    assert built.built
    assert [w.shape for w in built.weights] == [w.shape for w in called.weights]
    assert all(part.built for part in built._flatten_layers())
    paths = [w.path for w in called.weights]
    assert len(set(paths)) == len(paths), paths


def check_shape_and_dtype(make, inputs):
    """A symbolic call, an eager call and `compute_output_shape` agree."""
    layer = make()
    symbolic = layer(**symbols(inputs))
    eager = layer(**inputs)
    assert symbolic.shape[1:] == tuple(eager.shape[1:])
    assert keras.backend.standardize_dtype(symbolic.dtype) == dtype_of(eager)
    shapes = [x.shape for x in inputs.values() if x.dtype != bool]
    assert tuple(layer.compute_output_shape(*shapes)) == tuple(eager.shape)


def check_config(make, inputs):
    """A layer made from the config is the same layer but for its weights."""
    layer = make()
    expected = output(layer, inputs)
    serialized = keras.saving.serialize_keras_object(layer)
    copies = (
        type(layer).from_config(layer.get_config()),
        keras.saving.deserialize_keras_object(json.loads(json.dumps(serialized))),
    )
    for copy in copies:
        assert keras.saving.serialize_keras_object(copy)["config"] == serialized["config"]
        copy(**inputs)
        copy.set_weights(layer.get_weights())
        np.testing.assert_allclose(output(copy, inputs), expected, atol=1e-6)


def check_half_precision(make, inputs):
    """The output is half precise and finite, the variables are float32, also of closed rows."""
    closed = {name: closed_first(x) if x.dtype == bool else x for name, x in inputs.items()}
    for policy, dtype in HALF_POLICIES.items():
        layer = make(dtype=policy)
        for some_inputs in (inputs, closed):
            y = layer(**some_inputs)
            assert dtype_of(y) == dtype
            assert np.isfinite(numpy(y)).all(), f"not finite with {policy}"
        variables = layer.trainable_variables + layer.non_trainable_variables
        assert {v.dtype for v in variables} <= {"float32"}


def check_training(make, inputs, still=()):
    """One step of gradient descent changes every trainable weight, and no other."""
    layer = make()
    model = functional_model(layer, inputs)
    before = [numpy(w) for w in layer.weights]
    model.compile(keras.optimizers.SGD(1.0), "mse", jit_compile=False)
    shape = output(layer, inputs).shape
    if layer.trainable_weights:
        model.train_on_batch(inputs, np.random.default_rng(1).normal(size=shape))
    for weight, old in zip(layer.weights, before, strict=True):
        change = np.abs(numpy(weight) - old).max()
        if weight.trainable and not weight.path.endswith(tuple(still)):
            assert change > 1e-6, f"{weight.path} did not change"
        else:
            assert change < 1e-6, f"{weight.path} changed"


def check_saved(models, folder, module):
    """Models saved here compute the same in a new process, which loads them all.

    Args:
        models: dictionary from a name to a pair of a Keras model and its inputs.
        folder: an empty folder.
        module: the module that the new process imports to know the layers.
    """
    assert models
    expected = {}
    for name, (model, inputs) in models.items():
        expected[name] = output(model, {"inputs": inputs})
        model.save(folder / f"{name}.keras")
        named = inputs if isinstance(inputs, dict) else dict(enumerate(inputs))
        np.savez(folder / f"{name}.inputs.npz", **{str(key): x for key, x in named.items()})
    environment = {**os.environ, "KERAS_BACKEND": keras.backend.backend()}
    code = _NEW_PROCESS.format(module=module, names=list(models))
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    for name, y in expected.items():
        np.testing.assert_allclose(np.load(folder / f"{name}.npy"), y, atol=1e-6, err_msg=name)


_NEW_PROCESS = """
import keras
import numpy as np
import {module}
for name in {names}:
    model = keras.models.load_model(name + ".keras")
    inputs = dict(np.load(name + ".inputs.npz"))
    if "0" in inputs:
        inputs = tuple(inputs.values())
    np.save(name + ".npy", keras.ops.convert_to_numpy(model(inputs)))
"""


def check_refusal(make, value):
    """`make()`, which is given `value`, raises a ValueError that ends by naming it."""
    with pytest.raises(ValueError) as error:
        make()
    assert re.search(rf"Received: [^\n]*=?{re.escape(repr(value))}$", str(error.value))


def functional_model(layer, inputs):
    """A model of nothing but the layer, with the inputs' names."""
    named = symbols(inputs)
    return keras.Model(named, layer(**named))


def symbols(inputs):
    return {name: keras.Input(x.shape[1:], dtype=str(x.dtype), name=name) for name, x in inputs.items()}


def closed_first(mask):
    """The mask with every first row, of whatever axis the queries are, closed."""
    mask = mask.copy()
    mask[0] = False
    return mask


def output(layer, inputs):
    return numpy(layer(**inputs))


def numpy(x):
    """Any array, as float32 if it is narrower."""
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def dtype_of(x):
    return keras.backend.standardize_dtype(x.dtype)
