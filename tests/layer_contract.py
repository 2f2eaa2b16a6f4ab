"""Tests that every layer must pass, and helpers for the tests of layers and models.

The tests of a layer start with a subclass of `LayerContract` that defines the layer and its inputs.
"""

import json
import re
from typing import NamedTuple

import keras
import numpy as np
import pytest
from keras import ops
from quick import exhaustive_on_jax, some_of

from keras_transformer.settings import SETTING_NAMES, BlockSettings
from keras_transformer.testing import as_model, check_dtypes, check_gradients, check_save_and_load

BAD_SIZES = (0, -1, 2.0, True, None)
BAD_RATES = (1, 1.5, -0.1)
# A small encoder or decoder layer. Its sizes differ, so that a test fails if two are confused.
BLOCK_SIZES = {"h": 2, "d_k": 3, "d_v": 5, "d_model": 8, "d_ff": 16, "rate": 0.0}
BOTH_NORMS = pytest.mark.parametrize("norm_first", (False, True), ids=("post_norm", "pre_norm"))
# With JAX, compiling a whole step takes less time than compiling each of its operations.
EAGERLY = keras.config.backend() != "jax"
HALF_POLICIES = {"mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}


class LayerContract:
    """Tests that every layer must pass.

    Attributes:
        zero_gradients: path suffixes of the trainable weights whose gradient is always zero.
    """

    zero_gradients = ()

    def make(self, **kwargs):
        """Creates the layer.

        Args:
            **kwargs: arguments of `keras.layers.Layer`.
        """
        raise NotImplementedError

    def inputs(self):
        """Returns the arguments of `call` by name: two sequences of vectors or ids, and masks."""
        raise NotImplementedError

    @pytest.fixture
    def called(self):
        """The layer with random weights, its output, and a model of it; created once per class."""
        cls = type(self)
        if "_called" not in vars(cls):
            layer, inputs = self.make(), self.inputs()
            layer(**inputs)
            layer.set_weights(random_weights(layer))
            cls._called = _Called(layer, inputs, output(layer, inputs), *as_model(layer, inputs))
        return cls._called

    @exhaustive_on_jax
    def test_build_and_call_create_the_same_weights(self, called):
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
        """Eager calls, symbolic calls and `compute_output_shape` agree."""
        layer, shapes, shape = called.layer, _shapes(called.inputs), called.output.shape
        symbolic = layer(**symbols(called.inputs))
        assert tuple(layer.compute_output_shape(*shapes)) == shape
        open_shapes = [(None, *shape[1:]) for shape in shapes]
        assert tuple(layer.compute_output_shape(*open_shapes)) == (None, *shape[1:])
        assert tuple(symbolic.shape) == (None, *shape[1:])
        assert dtype_of(symbolic) == dtype_of(layer(**called.inputs)) == "float32"

    def test_a_model_of_variable_length_gives_the_same_output(self, called):
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

    def test_saved_and_loaded(self, called, process):
        check_save_and_load(called.model, called.values, load=process.load)

    @exhaustive_on_jax
    @pytest.mark.parametrize("policy", some_of(list(HALF_POLICIES), quick=("mixed_float16",)))
    def test_half_precision_is_finite(self, policy):
        check_dtypes(lambda policy: self.make(dtype=policy), self.inputs(), [policy])

    @exhaustive_on_jax
    def test_one_step_changes_only_the_trainable_weights(self, called):
        check_gradients(called.model, called.values, without=self.zero_gradients)


class _Called(NamedTuple):
    layer: keras.Layer
    inputs: dict
    output: np.ndarray
    model: keras.Model
    values: list


def group_settings(arguments):
    """Replaces the keyword arguments that are fields of `BlockSettings` by `settings`."""
    settings = {name: x for name, x in arguments.items() if name in SETTING_NAMES}
    others = {name: x for name, x in arguments.items() if name not in SETTING_NAMES}
    return {**others, "settings": BlockSettings(**settings)}


def check_sizes_are_refused(make, *names):
    """Asserts that `make` refuses values of the named sizes that are not positive integers."""
    for name in names:
        for size in BAD_SIZES:
            check_refused(make, **{name: size})


def check_rates_are_refused(make):
    """Asserts that `make` refuses rates outside [0, 1)."""
    for rate in BAD_RATES:
        check_refused(make, rate=rate)


def check_refused(make, **arguments):
    """Asserts that `make(**arguments)` raises a ValueError whose message ends with them."""
    received = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    with pytest.raises(ValueError, match=rf"Received: {re.escape(received)}$"):
        make(**arguments)


def check_dropout(layer, *inputs):
    """Asserts that the output is random in training and deterministic otherwise."""
    outputs = [numpy(layer(*inputs, training=training)) for training in (True, True, False, False)]
    assert np.abs(outputs[0] - outputs[1]).max() > 0.01
    np.testing.assert_array_equal(outputs[2], outputs[3])
    np.testing.assert_array_equal(numpy(layer(*inputs)), outputs[2])


def symbols(inputs):
    """Creates symbolic inputs with the shapes and dtypes of arrays."""
    return {
        name: keras.Input(x.shape[1:], dtype=str(x.dtype), name=name) for name, x in inputs.items()
    }


def random_weights(layer):
    """Returns random values for all weights, so that no two weights are equal."""
    rng = np.random.default_rng(2)
    return [rng.normal(scale=0.5, size=w.shape).astype("float32") for w in layer.weights]


def normal(*shape, seed=0):
    """Returns normally distributed float32 numbers."""
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def padding(*lengths):
    """Returns the padding mask, (B, 1, S), of sequences of these lengths."""
    return np.arange(max(lengths)) < np.array(lengths)[:, None, None]


def causal(batch, length):
    """Returns the causal mask, (B, T, T)."""
    return np.repeat(np.tri(length, dtype=bool)[None], batch, axis=0)


def output(layer, inputs):
    return numpy(layer(**inputs))


def numpy(x):
    """Converts a tensor to a float32 array."""
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def dtype_of(x):
    return keras.backend.standardize_dtype(x.dtype)


def _shapes(inputs):
    return [x.shape for x in inputs.values() if x.dtype != bool]


def _names_and_shapes(layer):
    return [(w.name, tuple(w.shape)) for w in layer.weights]
