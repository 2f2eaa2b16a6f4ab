import keras
import numpy as np
import pytest
from layer_contract import (
    LayerContract,
    check_dropout,
    check_rates_are_refused,
    check_refused,
    normal,
    numpy,
    random_weights,
)

from keras_transformer.layers import AddNormalization, FeedForward
from keras_transformer.testing import check_save_and_load


class Contract(LayerContract):
    def inputs(self):
        return {"x": normal(2, 5, 8), "sublayer_output": normal(2, 5, 8, seed=1)}


class TestPostNorm(Contract):
    def make(self, **kwargs):
        return AddNormalization(rate=0.1, **kwargs)


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
class TestPreNorm(Contract):
    zero_gradients = ("gamma", "beta")  # `sublayer_input` applies the norm, not `call`

    def make(self, **kwargs):
        return AddNormalization(rate=0.1, norm_first=True, **kwargs)


X = np.array([[1.0, 2.0], [5.0, 0.0]], "float32")
F = np.array([[2.0, 5.0], [-3.0, -4.0]], "float32")


def test_bad_rates_are_refused():
    check_rates_are_refused(AddNormalization)


def test_bad_epsilons_are_refused():
    for epsilon in (0, -1.0, "1e-6", None):
        check_refused(lambda **kwargs: AddNormalization(0.1, **kwargs), epsilon=epsilon)


def test_post_norm_normalizes_the_sum():
    """(3, 7) and (2, -4) have means 5 and -1 and standard deviations 2 and 3."""
    add_norm = AddNormalization(rate=0.0)
    np.testing.assert_allclose(numpy(add_norm(X, F)), [[-1, 1], [1, -1]], atol=1e-4)
    np.testing.assert_array_equal(numpy(add_norm.sublayer_input(X)), X)


def test_pre_norm_normalizes_the_sublayer_input():
    """(1, 2) and (5, 0) have means 1.5 and 2.5 and standard deviations 0.5 and 2.5."""
    add_norm = AddNormalization(rate=0.0, norm_first=True)
    np.testing.assert_allclose(numpy(add_norm(X, F)), [[3, 7], [2, -4]])
    np.testing.assert_allclose(numpy(add_norm.sublayer_input(X)), [[-1, 1], [1, -1]], atol=1e-4)


@pytest.mark.parametrize("norm_first", (False, True))
def test_dropout_is_active_only_in_training(norm_first):
    check_dropout(AddNormalization(0.5, norm_first), normal(2, 5, 8), normal(2, 5, 8, seed=1))


def test_dropout_applies_to_the_sublayer_and_not_the_residual():
    add_norm, x = AddNormalization(rate=0.5, norm_first=True), normal(4, 50, 8)
    ones = np.ones_like(x)
    np.testing.assert_array_equal(numpy(add_norm(x, 0 * x, training=True)), x)
    added = numpy(add_norm(0 * x, ones, training=True))
    assert set(np.unique(added)) == {0, 2}  # kept values are doubled to preserve the mean


def test_a_functional_model_of_pre_norm_is_saved_and_loaded():
    x, add_norm = keras.Input((3, 4)), AddNormalization(norm_first=True)
    model = keras.Model(x, add_norm(x, FeedForward(8, 4)(add_norm.sublayer_input(x))))
    model.set_weights(random_weights(model))
    check_save_and_load(model, np.ones((1, 3, 4)))


def test_another_layer_in_place_of_dropout_is_called_in_inference_too():
    add_norm, x = AddNormalization(rate=0.5, norm_first=True), normal(2, 5, 8)
    add_norm.dropout = keras.layers.Rescaling(2.0)
    np.testing.assert_allclose(numpy(add_norm(x, x)), 3 * x, rtol=1e-6)
