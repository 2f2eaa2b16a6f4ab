import keras
import numpy as np
import pytest
from layer_contract import LayerContract, normal, numpy

from keras_transformer.layers import Dense


class TestContract(LayerContract):
    def inputs(self):
        return {"inputs": normal(2, 5, 8)}

    def make(self, **kwargs):
        return Dense(3, "relu", **kwargs)


@pytest.mark.parametrize("shape", ((4, 8), (4, 5, 8), (4, 5, 6, 8)), ids=str)
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


def test_no_sentence_gives_none():
    assert Dense(3)(np.zeros((0, 5, 8), "float32")).shape == (0, 5, 3)
