"""The law that every layer obeys, and the helpers of the tests that state more.

A layer's tests begin with a subclass of `LayerContract` that names the layer and its inputs.
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

BAD_SIZES = (0, -1, 2.0, True, None)
BAD_RATES = (1, 1.5, -0.1)
# Of a small layer of the encoder or the decoder: no two sizes that could be mixed up are equal.
BLOCK_SIZES = {"h": 2, "d_k": 3, "d_v": 5, "d_model": 8, "d_ff": 16, "rate": 0.0}
BOTH_NORMS = pytest.mark.parametrize("norm_first", (False, True), ids=("post_norm", "pre_norm"))
# One compiled step takes JAX less time than compiling each operation of it.
EAGERLY = keras.config.backend() != "jax"
HALF_POLICIES = {"mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}


class LayerContract:
    """What is true of every layer.

    Attributes:
        still: ends of the paths of the trainable weights whose gradient is zero by nature.
    """

    still = ()

    def make(self, **kwargs):
        """A new layer, given keyword arguments of `keras.layers.Layer`."""
        raise NotImplementedError

    def inputs(self):
        """The arguments of `call` by name: two sentences of vectors, or of ids, and their masks."""
        raise NotImplementedError

    def test_built_is_as_good_as_called(self):
        built, called, inputs = self.make(), self.make(), self.inputs()
        called(**inputs)
        if called.weights:
            assert not built.built
            built.build(*_shapes(inputs))
        assert _names_and_shapes(built) == _names_and_shapes(called)
        built.set_weights(random_weights(called))
        called.set_weights(built.get_weights())
        np.testing.assert_allclose(output(built, inputs), output(called, inputs))
        assert _names_and_shapes(built) == _names_and_shapes(called)
        assert built.built
        assert called.built

    def test_weights_have_names_of_their_own(self):
        layer = self.make()
        layer(**self.inputs())
        paths = [w.path for w in layer.weights]
        assert len(set(paths)) == len(paths), paths

    def test_all_agree_about_the_output(self):
        layer, inputs = self.make(), self.inputs()
        eager, symbolic = layer(**inputs), layer(**symbols(inputs))
        assert tuple(layer.compute_output_shape(*_shapes(inputs))) == tuple(eager.shape)
        open_shapes = [(None, *shape[1:]) for shape in _shapes(inputs)]
        assert tuple(layer.compute_output_shape(*open_shapes)) == (None, *eager.shape[1:])
        assert tuple(symbolic.shape) == (None, *eager.shape[1:])
        assert dtype_of(symbolic) == dtype_of(eager) == "float32"

    def test_a_model_of_any_length_computes_the_same(self):
        layer, inputs = self.make(), self.inputs()
        expected = output(layer, inputs)
        y = functional_model(layer, inputs).predict(list(inputs.values()), verbose=0)
        np.testing.assert_allclose(y, expected, atol=1e-5)

    def test_made_again_from_its_config(self):
        layer, inputs = (
            self.make(name="another", trainable=False, dtype="mixed_bfloat16"),
            self.inputs(),
        )
        serialized = keras.saving.serialize_keras_object(layer)
        again = keras.saving.deserialize_keras_object(json.loads(json.dumps(serialized)))
        assert type(again) is type(layer)
        assert keras.saving.serialize_keras_object(again) == serialized
        assert type(layer).from_config(layer.get_config()).get_config() == layer.get_config()
        assert (again.name, again.trainable) == ("another", False)
        expected = output(layer, inputs)
        again(**inputs)
        again.set_weights(layer.get_weights())
        np.testing.assert_allclose(output(again, inputs), expected)

    def test_saved_here_and_loaded_elsewhere(self, tmp_path, other_process):
        layer, inputs = self.make(), self.inputs()
        model = functional_model(layer, inputs)
        layer.set_weights(random_weights(layer))
        check_saved(model, list(inputs.values()), tmp_path, other_process)

    @pytest.mark.parametrize("policy", HALF_POLICIES)
    def test_half_precision_is_finite(self, policy):
        layer = self.make(dtype=policy)
        either = self.inputs(), _closed(self.inputs())
        for inputs in either:
            y = layer(**inputs)
            assert dtype_of(y) == HALF_POLICIES[policy]
            assert np.isfinite(numpy(y)).all()
        # Closed masks are the harder case for gradients, and float16 the smaller range.
        train_once(layer, either[policy == "mixed_float16"])
        for inputs in either:
            assert np.isfinite(output(layer, inputs)).all()
        assert all(np.isfinite(numpy(w)).all() for w in layer.weights)
        assert {w.dtype for w in layer.weights} <= {"float32"}

    def test_one_step_changes_the_trainable_weights_only(self):
        layer, inputs = self.make(), self.inputs()
        layer(**inputs)
        before = layer.get_weights()
        train_once(layer, inputs)
        for weight, old in zip(layer.weights, before, strict=True):
            change = np.abs(numpy(weight) - old).max()
            learns = weight.trainable and not weight.path.endswith(self.still)
            assert (change > 1e-6) == learns, f"{weight.path} changed by {change}"


def check_sizes_are_refused(make, *names):
    """`make`, given any of the named sizes as no positive integer, says so."""
    for name in names:
        for size in BAD_SIZES:
            check_refused(make, **{name: size})


def check_rates_are_refused(make):
    """`make`, given a rate that is none, says so."""
    for rate in BAD_RATES:
        check_refused(make, rate=rate)


def check_refused(make, **arguments):
    """`make(**arguments)` raises a ValueError that ends by naming them all."""
    received = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    with pytest.raises(ValueError, match=rf"Received: {re.escape(received)}$"):
        make(**arguments)


def check_dropout(layer, *inputs):
    """Chance is at work in training, and nowhere else."""
    call = [numpy(layer(*inputs, training=training)) for training in (True, True, False, False)]
    assert np.abs(call[0] - call[1]).max() > 0.01
    np.testing.assert_array_equal(call[2], call[3])
    np.testing.assert_array_equal(numpy(layer(*inputs)), call[2])


def check_future_is_unseen(call, x, t=3):
    """`call(x)` sees at each position all up to it and nothing after it.

    Args:
        call: function from a float or integer array to an array, both with positions on axis 1.
        x: the array.
        t: the position at which `x` is changed.
    """
    changed = x.copy()
    changed[(slice(None), t) + (0,) * (x.ndim - 2)] += 1
    y, other = numpy(call(x)), numpy(call(changed))
    np.testing.assert_allclose(other[:, :t], y[:, :t], atol=1e-5)
    assert (np.abs(other - y).max(axis=-1)[:, t:] > 1e-4).all()


def check_saved(model, inputs, folder, other_process):
    """The model, saved here, computes the same in another process.

    Args:
        model: a Keras model.
        inputs: list of arrays.
        folder: an empty folder.
        other_process: the fixture.
    """
    model.save(folder / "model.keras")
    np.savez(folder / "inputs.npz", *inputs)
    other_process.run(folder)
    np.testing.assert_allclose(np.load(folder / "output.npy"), numpy(model(inputs)), atol=1e-6)


class OtherProcess:
    """A Python that knows nothing of this one and runs the models saved in folders."""

    def __init__(self):
        environment = {**os.environ, "KERAS_BACKEND": keras.config.backend()}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OTHER_PROCESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(self, folder):
        """Loads `model.keras`, and writes what it makes of `inputs.npz` to `output.npy`."""
        print(folder, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer == "done\n", answer.replace("\\n", "\n")

    def close(self):
        self._process.communicate()


_OTHER_PROCESS = """
import sys
import traceback

import keras
import numpy as np

import keras_transformer.layers
import keras_transformer.models

for line in sys.stdin:
    folder = line.rstrip()
    try:
        model = keras.models.load_model(folder + "/model.keras")
        inputs = list(np.load(folder + "/inputs.npz").values())
        np.save(folder + "/output.npy", keras.ops.convert_to_numpy(model(inputs)))
        print("done", flush=True)
    except Exception:
        print(repr(traceback.format_exc()), flush=True)
"""


def functional_model(layer, inputs):
    """A model of nothing but the layer, whose inputs are a list of any length."""
    named = symbols(inputs, any_length=True)
    return keras.Model(list(named.values()), layer(**named))


def symbols(inputs, any_length=False):
    """Symbolic inputs for arrays; with `any_length`, all axes but that of features are open."""
    return {
        name: keras.Input(_open(x) if any_length else x.shape[1:], dtype=str(x.dtype), name=name)
        for name, x in inputs.items()
    }


def train_once(layer, inputs):
    """One large step of gradient descent of the layer, and of a dense layer that reads it."""
    part = functional_model(layer, inputs)
    model = keras.Model(part.inputs, keras.layers.Dense(3, dtype="float32")(part.outputs[0]))
    noise = normal(*model(list(inputs.values())).shape)
    sgd = keras.optimizers.SGD(1.0)
    model.compile(sgd, "mse", run_eagerly=EAGERLY, auto_scale_loss=False)
    model.train_on_batch(list(inputs.values()), noise)


def random_weights(layer):
    """Values for all weights, such that no two weights are alike."""
    rng = np.random.default_rng(2)
    return [rng.normal(scale=0.5, size=w.shape).astype("float32") for w in layer.weights]


def normal(*shape, seed=0):
    """Random float32 vectors."""
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def padding(*lengths):
    """The mask (B, 1, S) of sentences of these lengths, padded to the longest."""
    return np.arange(max(lengths)) < np.array(lengths)[:, None, None]


def causal(batch, length):
    """The mask (B, T, T) that closes the future."""
    return np.repeat(np.tri(length, dtype=bool)[None], batch, axis=0)


def output(layer, inputs):
    return numpy(layer(**inputs))


def numpy(x):
    """Any tensor as a float32 array."""
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def dtype_of(x):
    return keras.backend.standardize_dtype(x.dtype)


def _open(x):
    ids_or_mask = x.dtype.kind in "bi"
    return (None,) * (x.ndim - 1) if ids_or_mask else (*(None,) * (x.ndim - 2), x.shape[-1])


def _closed(inputs):
    """The inputs, where the first sentence may attend to nothing."""
    first = np.array([True, False])
    return {
        name: x & ~first.reshape(-1, *(1,) * (x.ndim - 1)) if x.dtype == bool else x
        for name, x in inputs.items()
    }


def _shapes(inputs):
    return [x.shape for x in inputs.values() if x.dtype != bool]


def _names_and_shapes(layer):
    return [(w.name, tuple(w.shape)) for w in layer.weights]
