import keras
import numpy as np
import pytest
from layer_contract import check_sizes_are_refused, normal, numpy, random_weights
from model_contract import ModelContract, variants

from keras_transformer.models import Forecaster

BOTH = pytest.mark.parametrize("attention", (False, True), ids=("last", "attention"))
X = normal(4, 20, 1)


def make(attention, **kwargs):
    model = Forecaster(2, 20, attention, **kwargs)
    model.build((None, 20, 1))
    model.set_weights(random_weights(model))
    return model


@variants({"last": False, "attention": True})
class TestForecaster(ModelContract):
    test_dropout_is_active_only_in_training = None  # it has none

    @classmethod
    def make(cls, variant, **kwargs):
        return Forecaster(2, 20, variant, **kwargs)

    @staticmethod
    def inputs(variant):
        return X


@pytest.mark.parametrize(("attention", "parameters"), [(False, 11), (True, 33)])
def test_parameter_counts_match_the_published_ones(attention, parameters):
    model = make(attention)
    assert model.count_params() == parameters


@BOTH
def test_output_depends_on_the_input_steps(attention):
    model = make(attention)
    for t in (0, 7, 19) if attention else (18, 19):
        changed = X.copy()
        changed[:, t] += 1
        assert (np.abs(numpy(model(changed)) - numpy(model(X))) > 1e-6).all()


@pytest.mark.slow
@BOTH
def test_learns_to_forecast_a_sine_wave(attention):
    waves = np.sin(np.linspace(0, 60, 400))
    windows = np.lib.stride_tricks.sliding_window_view(waves, 21).astype("float32")
    model = Forecaster(4, 20, attention)
    model.compile(keras.optimizers.Adam(0.02), "mse")
    x, y = windows[:, :-1, None], windows[:, -1:]
    history = model.fit(x, y, batch_size=8, epochs=8, verbose=0).history["loss"]
    assert history[-1] < 0.1 * np.var(y)


def test_bad_sizes_are_refused():
    check_sizes_are_refused(
        lambda **x: Forecaster(**{"units": 2, "steps": 3, **x}), "units", "steps"
    )
