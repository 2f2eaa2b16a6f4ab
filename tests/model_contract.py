"""Properties of every model, whatever its task.

The tests of a model start with a subclass of `ModelContract` that is decorated with `variants(…)`.
"""

import keras
import numpy as np
import pytest
from layer_contract import (
    HALF_POLICIES,
    check_dropout,
    dtype_of,
    group_settings,
    numpy,
    random_weights,
)
from quick import some_of

from keras_transformer.testing import check_dtypes, check_gradients, check_save_and_load

# bfloat16 has three fewer bits of the mantissa.
HALF_TOLERANCES = {name: (name, 0.01 if name == "mixed_float16" else 0.1) for name in HALF_POLICIES}


def variants(arguments, quick=None):
    """Parametrizes a contract with variants of the model, a dictionary by name."""
    cases = some_of(arguments, arguments if quick is None else quick)
    return pytest.mark.parametrize("variant", cases, scope="class")


class ModelFixture:
    """Creates the models under test.

    Attributes:
        model_class: class of the model.
        sizes: default arguments of the model, or settings.
    """

    @classmethod
    def make(cls, **kwargs):
        """Creates a model from the arguments of a variant and others, built or not."""
        return cls.model_class(**group_settings({**cls.sizes, **kwargs}))

    @staticmethod
    def inputs(variant):
        """Returns an array, or a list of arrays."""
        raise NotImplementedError

    @staticmethod
    def zero_gradients(variant):
        """Returns suffixes of the paths of trainable weights whose gradient is always zero."""
        return ()

    @classmethod
    def with_random_weights(cls, **variant):
        model = cls.make(**variant)
        model(cls.inputs(variant))
        model.set_weights(random_weights(model))
        return model

    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, variant):
        """A model with random weights, shared by the tests that do not change it."""
        return cls.with_random_weights(**variant)


class ModelContract(ModelFixture):
    """Properties of every variant of a model."""

    def test_shapes_and_dtypes_agree(self, variant, model):
        inputs = self.inputs(variant)
        shapes = keras.tree.map_structure(lambda x: x.shape, inputs)
        found = keras.tree.map_structure(lambda x: tuple(x.shape), model(inputs))
        assert found == model.compute_output_shape(shapes)
        assert {dtype_of(x) for x in keras.tree.flatten(model(inputs))} == {"float32"}
        symbols = keras.tree.map_structure(
            lambda x: keras.Input(x.shape[1:] if x.ndim > 2 else (None,), dtype=str(x.dtype)),
            inputs,
        )
        check_close(keras.Model(symbols, model(symbols))(inputs), model(inputs), 1e-6)

    def test_build_and_call_create_the_same_weights(self, variant, model):
        inputs = self.inputs(variant)
        built = self.make(**variant)
        if not built.built:
            built.build(keras.tree.map_structure(lambda x: (None, *x.shape[1:]), inputs))
        names = [sorted((w.name, tuple(w.shape)) for w in x.weights) for x in (built, model)]
        assert names[0] == names[1]
        assert len({w.path for w in model.weights}) == len(names[0])
        built.set_weights(model.get_weights())
        check_close(built(inputs), model(inputs), 1e-6)

    def test_build_reaches_the_layers_of_a_subclass(self, variant, model):
        """Keras builds a model of a file by `build`, and reads weights of built layers only."""

        class Subclass(type(model)):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.further = keras.layers.Dense(1)

            def call(self, *args, **kwargs):
                outputs = super().call(*args, **kwargs)
                return keras.tree.map_structure(lambda x: self.further(x[..., None]), outputs)

        further = Subclass.from_config(model.get_config())
        further.build(
            keras.tree.map_structure(lambda x: (None, *x.shape[1:]), self.inputs(variant))
        )
        assert len(further.weights) == len(model.weights) + 2

    def test_recreated_from_its_config(self, variant):
        model = self.make(**variant, dtype="mixed_bfloat16")
        recreated = type(model).from_config(model.get_config())
        assert recreated.get_config() == model.get_config()
        assert recreated.dtype_policy.name == "mixed_bfloat16"

    def test_saved_and_loaded(self, variant, model, process):
        check_save_and_load(model, self.inputs(variant), load=process.load)

    @pytest.mark.parametrize("policy", some_of(HALF_TOLERANCES, quick=("mixed_float16",)))
    @pytest.mark.slow
    def test_half_precision_is_close_and_finite_even_for_all_padding(self, variant, model, policy):
        name, atol = policy
        inputs = self.inputs(variant)
        half = self.make(**variant, dtype=name)
        half(inputs)
        half.set_weights(model.get_weights())
        found = half(inputs)
        assert {dtype_of(x) for x in keras.tree.flatten(found)} == {HALF_POLICIES[name]}
        check_close(found, model(inputs), atol)
        empty = keras.tree.map_structure(np.copy, inputs)
        for x in keras.tree.flatten(empty):
            x[-1] = 0
        check_dtypes(lambda dtype: self.make(**variant, dtype=dtype), empty, [name])

    def test_one_step_changes_every_weight(self, variant, model):
        check_gradients(model, self.inputs(variant), without=self.zero_gradients(variant))

    def test_dropout_is_active_only_in_training(self, variant):
        model = self.with_random_weights(**{**variant, "rate": 0.5})
        check_dropout(lambda x, **mode: _first(model(x, **mode)), self.inputs(variant))


def check_close(found, expected, atol):
    """Asserts that two structures of tensors are equal within a tolerance."""
    for x, y in zip(keras.tree.flatten(found), keras.tree.flatten(expected), strict=True):
        np.testing.assert_allclose(numpy(x), numpy(y), atol=atol)


def _first(outputs):
    return keras.tree.flatten(outputs)[0]
