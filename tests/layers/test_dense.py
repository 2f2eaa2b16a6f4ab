"""The deprecated dense layer."""

import keras
import numpy as np
import pytest
from layer_contract import normal, numpy

from keras_transformer.layers import Dense


def test_equals_the_keras_layer_and_warns(tmp_path):
    with pytest.warns(FutureWarning, match=r"use keras\.layers\.Dense\. Version"):
        model = keras.Sequential([keras.Input((5, 8)), Dense(3, "relu")])
    x, weights = normal(2, 5, 8), [normal(8, 3), normal(3, seed=1)]
    model.set_weights(weights)
    expected = np.maximum(x @ weights[0] + weights[1], 0)
    np.testing.assert_allclose(numpy(model(x)), expected, atol=1e-5)
    model.save(tmp_path / "model.keras")
    with pytest.warns(FutureWarning):
        again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(numpy(again(x)), expected, atol=1e-5)
