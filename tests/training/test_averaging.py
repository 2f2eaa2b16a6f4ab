"""Checkpoint averaging, and temporary use of EMA weights."""

import h5py
import keras
import numpy as np
import pytest
from run_script import refusal, run_script
from tiny import make_dataset, make_model

from keras_transformer import RunConfig, RunFolder
from keras_transformer.training.averaging import average_weights, averaged_weights


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Creates a run folder with different weights for each of three epochs."""
    run = RunFolder(tmp_path_factory.mktemp("run"))
    dataset = make_dataset()
    run.create(RunConfig(d_model=32, d_ff=64, n=1, h=2, max_length=8), dataset)
    model = make_model(dataset)
    run.weights.parent.mkdir()
    for epoch in (6, 7, 8):
        model.save_weights(run.weights.with_name(f"epoch-000{epoch}.weights.h5"))
        model.set_weights([weight + 0.1 * epoch for weight in model.get_weights()])
    return run


def weights_of(file):
    model = make_model(make_dataset())
    model.load_weights(file)
    return model.get_weights()


def test_ema_weights_are_in_the_model_only_within_the_context():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    optimizer = keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5)
    optimizer.build(model.trainable_variables)
    initial = model.get_weights()
    for _ in range(2):
        optimizer.apply([keras.ops.ones(w.shape) for w in model.trainable_variables])
    weights = model.get_weights()
    # The EMA starts with the weights after the first update, which are 0.1 below the initial ones.
    with averaged_weights(model, optimizer):
        for found, first in zip(model.get_weights(), initial, strict=True):
            np.testing.assert_allclose(found, first - (0.5 * 0.1 + 0.5 * 0.2), atol=1e-6)
    for found, expected in zip(model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(OSError), averaged_weights(model, optimizer):
        raise OSError
    for found, expected in zip(model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_the_average_is_the_mean(run, tmp_path):
    files = run.epoch_weights()
    average_weights(files, tmp_path / "mean.weights.h5")
    expected = [np.mean(w, axis=0) for w in zip(*map(weights_of, files), strict=True)]
    for mean, other in zip(weights_of(tmp_path / "mean.weights.h5"), expected, strict=True):
        np.testing.assert_allclose(mean, other, atol=1e-6)


def test_the_average_of_one_file_is_that_file(run, tmp_path):
    file = run.epoch_weights()[0]
    average_weights([file], tmp_path / "mean.weights.h5")
    for mean, other in zip(weights_of(tmp_path / "mean.weights.h5"), weights_of(file), strict=True):
        np.testing.assert_array_equal(mean, other)


def test_refuses_missing_damaged_and_mismatched_files(run, tmp_path):
    target = tmp_path / "mean.weights.h5"
    with pytest.raises(ValueError, match="no files"):
        average_weights([], target)
    with h5py.File(tmp_path / "other.weights.h5", "w") as file:
        file["x"] = np.ones(1, "float32")
    with pytest.raises(ValueError, match="from one model"):
        average_weights([run.epoch_weights()[0], tmp_path / "other.weights.h5"], target)
    (tmp_path / "damaged.weights.h5").write_text("half a file")
    with pytest.raises(ValueError, match=r"damaged\.weights\.h5 is not an HDF5 file"):
        average_weights([run.epoch_weights()[0], tmp_path / "damaged.weights.h5"], target)
    with pytest.raises(OSError, match=r"missing\.weights\.h5 cannot be read"):
        average_weights([tmp_path / "missing.weights.h5"], target)
    assert not target.exists()


def test_the_script_averages_checkpoints(run, tmp_path):
    out = run_script("average_checkpoints.py", run.path, "--last", "2", folder=tmp_path)
    assert "--weights average" in out and run.weights_file("average").exists()
    refusal("average_checkpoints.py", run.path, "--last", "9", folder=tmp_path)
    refusal("average_checkpoints.py", run.path, "--last", "2", "--name", "best", folder=tmp_path)
