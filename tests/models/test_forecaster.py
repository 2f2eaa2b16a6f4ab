import keras
import numpy as np
import pytest
from layer_contract import check_sizes_are_refused, normal, numpy
from model_contract import ModelContract, variants

from keras_transformer.models import Forecaster

X = normal(4, 20, 1)


@variants({"last": {"attention": False}, "attention": {"attention": True}})
class TestForecaster(ModelContract):
    test_dropout_is_active_only_in_training = None  # it has none

    @classmethod
    def make(cls, **kwargs):
        return Forecaster(2, 20, **kwargs)

    @staticmethod
    def inputs(variant):
        return X

    def test_output_depends_on_the_input_steps(self, variant, model):
        for t in (0, 7, 19) if variant["attention"] else (18, 19):
            changed = X.copy()
            changed[:, t] += 1
            assert (np.abs(numpy(model(changed)) - numpy(model(X))) > 1e-6).all()

    def test_parameter_count_matches_the_published_one(self, variant, model):
        assert model.count_params() == (33 if variant["attention"] else 11)


@pytest.mark.slow
@pytest.mark.parametrize("attention", (False, True), ids=("last", "attention"))
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
