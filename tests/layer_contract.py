"""The properties of every layer, and helpers for the tests of layers and models.

A layer's tests begin with a subclass of `LayerContract` that names the layer and its inputs.
"""

import json
import os
import re
import subprocess
import sys
from typing import NamedTuple

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.settings import SETTING_NAMES, BlockSettings
from keras_transformer.testing import as_model, check_dtypes, check_gradients, check_save_and_load

BAD_SIZES = (0, -1, 2.0, True, None)
BAD_RATES = (1, 1.5, -0.1)
# Of a small layer of the encoder or the decoder: no two sizes that could be mixed up are equal.
BLOCK_SIZES = {"h": 2, "d_k": 3, "d_v": 5, "d_model": 8, "d_ff": 16, "rate": 0.0}
BOTH_NORMS = pytest.mark.parametrize("norm_first", (False, True), ids=("post_norm", "pre_norm"))
# One compiled step takes JAX less time than compiling each operation of it.
EAGERLY = keras.config.backend() != "jax"
# The same for stacks of layers, where pre-norm ends with a norm of its own.
STACK_NORMS = pytest.mark.parametrize(
    "norm_first",
    (pytest.param(False, marks=pytest.mark.exhaustive), True),
    ids=("post_norm", "pre_norm"),
)
HALF_POLICIES = {"mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}
# JAX compiles each policy for a second, and float16 has the smaller range.
_POLICIES = (
    pytest.param("mixed_bfloat16", marks=() if EAGERLY else pytest.mark.exhaustive),
    "mixed_float16",
)


class LayerContract:
    """Properties of every layer.

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

    @pytest.fixture
    def called(self):
        """The layer after a call, with random weights, and a model of it: made once per class."""
        cls = type(self)
        if "_called" not in vars(cls):
            layer, inputs = self.make(), self.inputs()
            layer(**inputs)
            layer.set_weights(random_weights(layer))
            cls._called = _Called(layer, inputs, output(layer, inputs), *as_model(layer, inputs))
        return cls._called

    def test_building_creates_the_weights_that_a_call_creates(self, called):
        built = self.make()
        if called.layer.weights:
            assert not built.built
            built.build(*_shapes(called.inputs))
        names_and_shapes = _names_and_shapes(called.layer)
        assert _names_and_shapes(built) == names_and_shapes
        built.set_weights(called.layer.get_weights())
        np.testing.assert_allclose(output(built, called.inputs), called.output)
        assert _names_and_shapes(built) == names_and_shapes
        assert built.built
        assert called.layer.built

    def test_paths_of_weights_are_unique(self, called):
        paths = [w.path for w in called.layer.weights]
        assert len(set(paths)) == len(paths), paths

    def test_shapes_and_dtypes_agree(self, called):
        """Those that are computed, inferred and forecast by `compute_output_shape`."""
        layer, shapes, shape = called.layer, _shapes(called.inputs), called.output.shape
        symbolic = layer(**symbols(called.inputs))
        assert tuple(layer.compute_output_shape(*shapes)) == shape
        open_shapes = [(None, *shape[1:]) for shape in shapes]
        assert tuple(layer.compute_output_shape(*open_shapes)) == (None, *shape[1:])
        assert tuple(symbolic.shape) == (None, *shape[1:])
        assert dtype_of(symbolic) == dtype_of(layer(**called.inputs)) == "float32"

    def test_a_graph_of_any_length_computes_the_same(self, called):
        y = called.model.predict(called.values, verbose=0)
        np.testing.assert_allclose(y, called.output, atol=1e-5)

    def test_recreated_from_its_config(self):
        layer = self.make(name="another", trainable=False, dtype="mixed_bfloat16")
        serialized = keras.saving.serialize_keras_object(layer)
        again = keras.saving.deserialize_keras_object(json.loads(json.dumps(serialized)))
        assert type(again) is type(layer)
        assert keras.saving.serialize_keras_object(again) == serialized
        assert type(layer).from_config(layer.get_config()).get_config() == layer.get_config()
        assert (again.name, again.trainable) == ("another", False)
        assert again.dtype_policy.name == "mixed_bfloat16"

    def test_saved_here_and_loaded_elsewhere(self, called, other_process):
        check_save_and_load(called.model, called.values, load=other_process.load)

    @pytest.mark.parametrize("policy", _POLICIES)
    def test_half_precision_is_finite(self, policy):
        check_dtypes(lambda policy: self.make(dtype=policy), self.inputs(), [policy])

    def test_one_step_changes_the_trainable_weights_only(self, called):
        check_gradients(called.model, called.values, without=self.still)


class _Called(NamedTuple):
    layer: keras.Layer
    inputs: dict
    output: np.ndarray
    model: keras.Model
    values: list


def gathered(arguments):
    """Keyword arguments, with those of `BlockSettings` gathered in `settings`."""
    settings = {name: x for name, x in arguments.items() if name in SETTING_NAMES}
    others = {name: x for name, x in arguments.items() if name not in SETTING_NAMES}
    return {**others, "settings": BlockSettings(**settings)}


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
    """A Python process that shares nothing with this one and applies saved models."""

    def __init__(self):
        environment = {**os.environ, "KERAS_BACKEND": keras.config.backend()}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OTHER_PROCESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def load(self, path):
        """Returns a function that applies the model saved at `path` in the other process."""

        def apply(inputs):
            np.savez(path.parent / "inputs.npz", *inputs)
            self.run(path.parent)
            return np.load(path.parent / "output.npy")

        return apply

    def run(self, folder):
        """Loads `model.keras`, applies it to `inputs.npz`, and writes `output.npy`."""
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
        # JAX compiles one program sooner than each operation of it.
        jax = keras.config.backend() == "jax"
        y = model.predict_on_batch(inputs) if jax else model(inputs)
        np.save(folder + "/output.npy", keras.ops.convert_to_numpy(y))
        print("done", flush=True)
    except Exception:
        print(repr(traceback.format_exc()), flush=True)
"""


def symbols(inputs):
    """Symbolic inputs of the shapes of arrays."""
    return {
        name: keras.Input(x.shape[1:], dtype=str(x.dtype), name=name) for name, x in inputs.items()
    }


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


def _shapes(inputs):
    return [x.shape for x in inputs.values() if x.dtype != bool]


def _names_and_shapes(layer):
    return [(w.name, tuple(w.shape)) for w in layer.weights]
