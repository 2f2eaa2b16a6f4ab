import keras
import numpy as np
import pytest
from layer_contract import LayerContract, check_refused, normal, numpy

from keras_transformer.layers import LayerNormalization


@pytest.mark.every_backend
class TestContract(LayerContract):
    def inputs(self):
        return {"x": normal(2, 5, 8)}

    def make(self, **kwargs):
        return LayerNormalization(epsilon=1e-3, **kwargs)


def test_bad_epsilons_are_refused():
    for epsilon in (0, -1.0, "1e-6", None):
        check_refused(LayerNormalization, epsilon=epsilon)


def test_equals_the_equation_of_the_paper():
    """(3, 7) and (2, -4) have means 5 and -1 and standard deviations 2 and 3."""
    layer = LayerNormalization(epsilon=1e-9)
    layer.build((None, 2))
    layer.set_weights([np.array([10, 100]), np.array([1, 2])])
    y = numpy(layer(np.array([[3.0, 7.0], [2.0, -4.0]], "float32")))
    np.testing.assert_allclose(y, [[-9, 102], [11, -98]], rtol=1e-6)


def test_epsilon_is_added_to_the_variance():
    """(3, -3) has variance 9, so with ε = 16 it is divided by √(9 + 16) = 5."""
    y = LayerNormalization(epsilon=16)(np.array([3.0, -3.0], "float32"))
    np.testing.assert_allclose(numpy(y), [0.6, -0.6], atol=1e-6)


def test_keras_mask_is_propagated():
    parts = keras.layers.Embedding(9, 4, mask_zero=True), LayerNormalization(), keras.layers.LSTM(3)
    model = keras.Sequential(parts)
    padded, alone = (numpy(model(np.array([ids]))) for ids in ([3, 4, 0], [3, 4]))
    np.testing.assert_allclose(padded, alone, atol=1e-6)


def test_constant_input_gives_zeros():
    y = LayerNormalization()(np.full((1, 4), 7.0, "float32"))
    np.testing.assert_array_equal(numpy(y), np.zeros((1, 4)))


@pytest.mark.every_backend
@pytest.mark.parametrize("policy", ("mixed_bfloat16", "mixed_float16"))
def test_computes_in_float32(policy):
    """1000 and 1001 are equal in bfloat16, and the square of 1000 overflows in float16."""
    y = LayerNormalization(dtype=policy)(np.array([[1000.0, 1001.0]], "float32"))
    np.testing.assert_allclose(numpy(y), [[-1, 1]], atol=1e-2)


@pytest.mark.parametrize(
    "shape",
    (
        (8,),
        pytest.param((4, 8), marks=pytest.mark.exhaustive),
        pytest.param((2, 3, 8), marks=pytest.mark.every_backend),
    ),
    ids=str,
)
def test_outputs_and_gradients_match_keras(shape):
    """One step of SGD updates the layer and the dense layer before it as with Keras."""
    x, factors = normal(*shape), normal(*shape, seed=1)
    found = []
    for norm in (LayerNormalization(1e-3), keras.layers.LayerNormalization(epsilon=1e-3)):
        norm.build((*shape[:-1], 8))
        norm.set_weights([normal(8, seed=2), normal(8, seed=3)])
        before = keras.layers.Dense(8, kernel_initializer="identity", name="before")
        inputs = keras.Input(shape)
        model = keras.Model(inputs, norm(before(inputs)))
        y = model.predict(x[None], verbose=0)
        # Compiled because otherwise TensorFlow may update γ before the backward pass reads it.
        sgd, jit = keras.optimizers.SGD(0.1), keras.config.backend() != "torch"
        model.compile(sgd, lambda factors, y: keras.ops.sum(factors * y), jit_compile=jit)
        model.train_on_batch(x[None], factors[None])
        found.append([y, *model.get_weights()])
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-5)
    assert np.abs(found[0][1] - np.eye(8)).max() > 0.01
