"""`Adam` gives the same updates as `keras.optimizers.Adam`."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_contract import normal

from keras_transformer import Adam, WarmupSchedule

pytestmark = pytest.mark.every_backend

OPTIONS = {
    "training run": {"learning_rate": WarmupSchedule(8, 2), "beta_2": 0.98, "epsilon": 1e-9},
    "clipped": {"global_clipnorm": 0.1},
    "averaged": {"use_ema": True, "ema_momentum": 0.5},
    "accumulated": {"gradient_accumulation_steps": 2},
    "with decay": {"weight_decay": 0.1},
    "amsgrad": {"amsgrad": True},
}


def trained(optimizer, dtype="float32"):
    """Returns two weights and the variables of the optimizer after four updates."""
    weights = [keras.Variable(normal(*shape), dtype=dtype) for shape in ((3, 4), (4,))]
    optimizer.build(weights)
    for i in range(4):
        gradients = [normal(*w.shape, seed=i) for w in weights]
        optimizer.apply([ops.convert_to_tensor(x, dtype) for x in gradients], weights)
    return [ops.convert_to_numpy(ops.cast(w, "float32")) for w in weights + optimizer.variables]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_updates_match_keras(options):
    options = {"learning_rate": 0.1, **options}
    ours = trained(Adam(**options))
    expected = trained(keras.optimizers.Adam(**options))
    for a, b in zip(ours, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert np.abs(ours[0] - normal(3, 4)).max() > 0.01


@pytest.mark.parametrize("jit_compile", (False, True), ids=("graph", "compiled"))
@pytest.mark.slow
def test_fit_matches_keras(jit_compile):
    found = []
    for optimizer in (Adam(0.1), keras.optimizers.Adam(0.1)):
        dense = keras.layers.Dense(2)
        model = keras.Sequential([keras.Input((3,)), dense])
        dense.set_weights([normal(3, 2), normal(2)])
        model.compile(optimizer, "mse", jit_compile=jit_compile)
        model.fit(normal(8, 3, seed=1), normal(8, 2, seed=2), batch_size=8, epochs=4, verbose=0)
        found.append(model.get_weights())
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-5)
    assert np.abs(found[0][0] - normal(3, 2)).max() > 0.1


def test_optimizer_is_saved_with_a_compiled_model(tmp_path):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile(Adam(0.1, beta_2=0.98), "mse")
    model.save(tmp_path / "model.keras")
    optimizer = keras.models.load_model(tmp_path / "model.keras").optimizer
    assert type(optimizer) is Adam and optimizer.beta_2 == 0.98


def test_half_precision_updates_match_keras():
    ours = trained(Adam(0.1), "bfloat16")
    for a, b in zip(ours, trained(keras.optimizers.Adam(0.1), "bfloat16"), strict=True):
        np.testing.assert_allclose(a, b, atol=0.02)
