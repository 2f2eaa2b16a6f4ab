import keras
import numpy as np
import pytest
from layer_contract import LayerContract, normal, numpy

from keras_transformer.layers import Dense


@pytest.mark.every_backend
class TestContract(LayerContract):
    def inputs(self):
        return {"inputs": normal(2, 5, 8)}

    def make(self, **kwargs):
        return Dense(3, "relu", **kwargs)


@pytest.mark.parametrize(
    "shape",
    (
        (4, 8),
        pytest.param((4, 5, 8), marks=pytest.mark.every_backend),
        pytest.param((4, 5, 6, 8), marks=pytest.mark.exhaustive),
    ),
    ids=str,
)
def test_gives_and_learns_what_that_of_keras_does(shape):
    """One step of gradient descent moves what lies before it and its own weights alike."""
    x, factors = normal(*shape), normal(*shape[:-1], 3, seed=1)
    found = []
    for layer in (Dense(3, "tanh"), keras.layers.Dense(3, "tanh")):
        model = keras.Sequential([keras.Input(shape[1:]), keras.layers.Dense(8), layer])
        model.set_weights([normal(*w.shape, seed=2) for w in model.weights])
        model.compile(keras.optimizers.SGD(0.1), lambda target, y: keras.ops.sum(target * y))
        model.train_on_batch(x, factors)
        found.append([numpy(model(x)), *model.get_weights()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize(
    "activation",
    ("softmax", "glu", lambda y: keras.ops.softmax(y, axis=1)),
    ids=("softmax", "glu", "over_positions"),
)
def test_an_activation_may_see_more_than_one_number(activation):
    x, layers = normal(4, 5, 8), (Dense(6, activation), keras.layers.Dense(6, activation))
    for layer in layers:
        layer.build(x.shape)
        layer.set_weights([normal(8, 6), normal(6, seed=1)])
    ours, theirs = (numpy(layer(x)) for layer in layers)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_the_loss_of_improbable_words_is_exact():
    """Keras takes it from the logits where TensorFlow hands them on: exp(-100) is 0 in float32."""
    target = np.zeros((1, 2), "int32")
    losses = []
    for layer in (Dense(2, "softmax"), keras.layers.Dense(2, "softmax")):
        layer.build((1, 2, 1))
        layer.set_weights([np.array([[0.0, 100.0]]), np.zeros(2)])
        y = layer(np.ones((1, 2, 1), "float32"))
        losses.append(numpy(keras.losses.sparse_categorical_crossentropy(target, y)))
    np.testing.assert_allclose(*losses, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Layer InputLayer does not have a `quantize` method")
def test_is_quantized_as_that_of_keras_is(tmp_path):
    x, found = normal(4, 5, 8), []
    for layer in (Dense(16, "relu"), keras.layers.Dense(16, "relu")):
        model = keras.Sequential([keras.Input((None, 8)), layer])
        layer.set_weights([normal(8, 16), normal(16, seed=1)])
        exact = numpy(model(x))
        model.quantize("int8")
        assert layer.quantization_mode == "int8"
        found.append(numpy(model(x)))
        np.testing.assert_allclose(found[-1], exact, atol=0.1)
        model.save(tmp_path / "model.keras")
        again = keras.saving.load_model(tmp_path / "model.keras")
        np.testing.assert_array_equal(numpy(again(x)), found[-1])
    np.testing.assert_allclose(*found, atol=1e-6)
    assert (found[0] != exact).any()


def test_subclasses_that_may_compute_otherwise_are_not_quantized():
    class Other(Dense):
        pass

    layer = Other(3)
    layer.build((None, 8))
    with pytest.raises(NotImplementedError):
        layer.quantize("int8")


def test_no_sentence_gives_none():
    assert Dense(3)(np.zeros((0, 5, 8), "float32")).shape == (0, 5, 3)
