import keras
import numpy as np
import pytest
from layer_contract import LayerContract, check_sizes_are_refused, normal, numpy

from keras_transformer.layers import FeedForward, feed_forward


class TestContract(LayerContract):
    def inputs(self):
        return {"x": normal(2, 5, 8)}

    def make(self, **kwargs):
        return FeedForward(d_ff=16, d_model=6, activation="gelu", **kwargs)


class TestOnGpu(TestContract):
    """JAX computes the activation again for the gradient."""

    @pytest.fixture(autouse=True)
    def device(self, monkeypatch):
        monkeypatch.setattr(feed_forward, "jax_has_cuda", lambda: True)


class TestGated(TestContract):
    def make(self, **kwargs):
        return FeedForward(d_ff=16, d_model=6, activation="silu", gated=True, **kwargs)


def test_bad_sizes_are_refused():
    check_sizes_are_refused(lambda d_ff=1: FeedForward(d_ff, 1), "d_ff")
    check_sizes_are_refused(lambda d_model=1: FeedForward(1, d_model), "d_model")


def test_equals_the_equation_of_the_paper():
    """Computes max(0, xW₁ + b₁)W₂ + b₂ by hand."""
    layer = FeedForward(d_ff=3, d_model=1)
    layer.build((None, 2))
    layer.inner.set_weights([np.array([[1, 0, 1], [0, 1, -1]]), np.array([0, 10, 0])])
    layer.outer.set_weights([np.array([[1], [10], [100]]), np.array([0.5])])
    y = layer(np.array([[1.0, 2.0], [-1.0, -20.0]]))  # inner: (1, 12, -1) and (-1, -10, 19)
    np.testing.assert_allclose(numpy(y), [[121.5], [1900.5]])


def test_positions_are_independent():
    layer, x = FeedForward(d_ff=16, d_model=8), normal(2, 5, 8)
    alone = [numpy(layer(x[:, t : t + 1])) for t in range(5)]
    np.testing.assert_allclose(np.concatenate(alone, axis=1), numpy(layer(x)), atol=1e-6)


def test_accepts_any_number_of_leading_axes():
    layer, x = FeedForward(d_ff=16, d_model=4), normal(2, 3, 5, 8)
    expected = numpy(layer(x.reshape(30, 8))).reshape(2, 3, 5, 4)
    np.testing.assert_allclose(numpy(layer(x)), expected, atol=1e-6)


def test_activation_applies_to_the_inner_layer():
    layer = FeedForward(d_ff=1, d_model=1, activation="tanh")
    layer.build((None, 1))
    layer.set_weights([np.ones(w.shape) for w in layer.weights])
    x = np.array([[-3.0], [-1.0], [0.5]])
    np.testing.assert_allclose(numpy(layer(x)), np.tanh(x + 1) + 1, atol=1e-6)


def test_a_subclass_that_calls_its_base_class_keeps_the_dropout():
    class Doubled(FeedForward):
        def call(self, x):
            return 2 * super().call(x)

    model = keras.Sequential([Doubled(64, 3, rate=0.5)])
    x = np.ones((2, 4, 3), "float32")
    without = numpy(model(x, training=False))
    assert not np.allclose(numpy(model(x, training=True)), without)
    np.testing.assert_array_equal(numpy(model(x, training=False)), without)
