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


def test_is_the_equation_of_the_paper():
    """(3, 7) and (2, -4) have the means 5 and -1 and the deviations 2 and 3."""
    layer = LayerNormalization(epsilon=1e-9)
    layer.build((None, 2))
    layer.set_weights([np.array([10, 100]), np.array([1, 2])])
    y = numpy(layer(np.array([[3.0, 7.0], [2.0, -4.0]], "float32")))
    np.testing.assert_allclose(y, [[-9, 102], [11, -98]], rtol=1e-6)


def test_epsilon_is_added_to_the_variance():
    """(3, -3) has the variance 9: with 16 more, its deviation seems to be 5."""
    y = LayerNormalization(epsilon=16)(np.array([3.0, -3.0], "float32"))
    np.testing.assert_allclose(numpy(y), [0.6, -0.6], atol=1e-6)


def test_a_mask_goes_on():
    parts = keras.layers.Embedding(9, 4, mask_zero=True), LayerNormalization(), keras.layers.LSTM(3)
    model = keras.Sequential(parts)
    padded, alone = (numpy(model(np.array([ids]))) for ids in ([3, 4, 0], [3, 4]))
    np.testing.assert_allclose(padded, alone, atol=1e-6)


def test_equal_numbers_become_zero():
    y = LayerNormalization()(np.full((1, 4), 7.0, "float32"))
    np.testing.assert_array_equal(numpy(y), np.zeros((1, 4)))


@pytest.mark.every_backend
@pytest.mark.parametrize("policy", ("mixed_bfloat16", "mixed_float16"))
def test_computes_in_float32(policy):
    """1000 and 1001 are one number in bfloat16, and the square of 1000 is none in float16."""
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
def test_gives_and_learns_what_that_of_keras_does(shape):
    """One step of gradient descent moves what lies before it and its own weights alike."""
    x, factors = normal(*shape), normal(*shape, seed=1)
    found = []
    for norm in (LayerNormalization(1e-3), keras.layers.LayerNormalization(epsilon=1e-3)):
        norm.build((*shape[:-1], 8))
        norm.set_weights([normal(8, seed=2), normal(8, seed=3)])
        before = keras.layers.Dense(8, kernel_initializer="identity", name="before")
        inputs = keras.Input(shape)
        model = keras.Model(inputs, norm(before(inputs)))
        y = model.predict(x[None], verbose=0)
        # Compiled: else TensorFlow's `fit` may update γ before the gradients before it read it.
        sgd = keras.optimizers.SGD(0.1)
        model.compile(sgd, lambda factors, y: keras.ops.sum(factors * y), jit_compile=True)
        model.train_on_batch(x[None], factors[None])
        found.append([y, *model.get_weights()])
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-5)
    assert np.abs(found[0][1] - np.eye(8)).max() > 0.01
