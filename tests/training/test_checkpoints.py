"""Checkpoints: exact restoring, atomic saving, and refusal of damaged or mismatched files."""

import json
import os
import shutil
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from full_disk import full_disk
from keras import ops
from other_backends import other_backends, run_on

from keras_transformer.training.checkpoints import Checkpoints

COUNTERS = {"epoch": 3, "totals": [0.1, 1 / 3], "history": [{"epoch": 1, "loss": 2e-7}]}


def make(folder, units=4, optimizer=keras.optimizers.Adam):
    """Returns checkpoints of an optimizer and of a model with a random generator."""
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(units),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(2),
        ]
    )
    optimizer = optimizer(0.1)
    optimizer.build(model.trainable_variables)
    checkpoints = Checkpoints(folder, model, optimizer)
    checkpoints.variables = [*model.variables, *optimizer.variables]
    return checkpoints


def fill(checkpoints, value):
    """Sets all variables to distinct numbers that depend on a value."""
    for i, variable in enumerate(checkpoints.variables):
        numbers = np.arange(np.prod(variable.shape)).reshape(variable.shape) + 100 * i + value
        is_float = "float" in variable.dtype
        variable.assign((numbers / 3 if is_float else numbers).astype(variable.dtype))


def values(checkpoints):
    return [ops.convert_to_numpy(variable).tolist() for variable in checkpoints.variables]


def names(checkpoints):
    return sorted(os.listdir(checkpoints.folder))


@pytest.fixture
def saved(tmp_path):
    """Returns checkpoints after `fill(1)`, saving and `fill(2)`."""
    checkpoints = make(tmp_path / "checkpoints")
    fill(checkpoints, 1)
    checkpoints.save(COUNTERS)
    fill(checkpoints, 2)
    return checkpoints


def assert_restores(checkpoints, value, counters=COUNTERS):
    expected = make(checkpoints.folder)
    fill(expected, value)
    assert checkpoints.restore() == counters
    assert values(checkpoints) == values(expected)


# Round trips


@pytest.mark.every_backend
def test_restores_all_variables_bit_for_bit(saved):
    other = make(saved.folder)
    assert any("seed" in variable.path for variable in other.variables)
    assert_restores(other, 1)


def test_restores_nan_infinity_and_subnormal_numbers(tmp_path):
    checkpoints = make(tmp_path)
    special = np.array([np.nan, -0.0, np.inf, np.float32(1e-42)] * 3, dtype="float32").reshape(3, 4)
    checkpoints.variables[0].assign(special)
    checkpoints.save({})
    fill(checkpoints, 2)
    checkpoints.restore()
    assert ops.convert_to_numpy(checkpoints.variables[0]).tobytes() == special.tobytes()


def test_restoring_without_a_checkpoint_changes_nothing(tmp_path):
    checkpoints = make(tmp_path / "nowhere")
    before = values(checkpoints)
    assert checkpoints.restore() is None
    assert values(checkpoints) == before and not checkpoints.folder.exists()


def test_only_the_last_checkpoint_is_kept(saved):
    saved.save({"epoch": 4})
    assert names(saved) == ["000002"]
    fill(saved, 3)
    saved.save({"epoch": 5})
    assert names(saved) == ["000003"]
    assert sorted(os.listdir(saved.folder / "000003")) == ["counters.json", "variables.h5"]
    assert_restores(make(saved.folder), 3, {"epoch": 5})


def test_older_checkpoints_are_removed_once_the_new_one_is_complete(saved, monkeypatch):
    restored = []

    def remove(path, **options):
        assert Path(path).name == "000001"
        restored.append(make(saved.folder).restore())

    monkeypatch.setattr(shutil, "rmtree", remove)
    saved.save({"epoch": 4})
    assert restored == [{"epoch": 4}]
    assert names(saved) == ["000001", "000002"]  # `remove` above leaves the older one
    assert_restores(make(saved.folder), 2, {"epoch": 4})


# Atomic saving


def test_a_partial_checkpoint_is_ignored(saved):
    half = saved.folder / "partial-1-000002"
    shutil.copytree(saved.folder / "000001", half)
    (half / "counters.json").write_text('{"epoch": 9}')
    assert_restores(make(saved.folder), 1)
    saved.save({"epoch": 4})
    assert_restores(make(saved.folder), 2, {"epoch": 4})


def test_only_numbered_folders_are_checkpoints(saved):
    for name in ("notes", "2", "0000009", "000002.old"):
        (saved.folder / name).mkdir()
    assert_restores(make(saved.folder), 1)


def test_a_full_disk_keeps_the_last_checkpoint(saved):
    with pytest.raises(OSError, match=r"(?s)could not be written.*unchanged"), full_disk(0):
        saved.save({"epoch": 4})
    assert names(saved) == ["000001"]
    assert_restores(make(saved.folder), 1)


@pytest.mark.parametrize("fails", ["os.replace", "os.fsync", "json.dumps"])
def test_any_failure_keeps_the_last_checkpoint(saved, monkeypatch, fails):
    def fail(*arguments):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(fails, fail)
        with pytest.raises(OSError, match=r"disk full\. Existing data is unchanged"):
            saved.save({"epoch": 4})
    assert names(saved) == ["000001"]
    assert_restores(make(saved.folder), 1)


OTHER_PROCESS = """
import sys
from test_checkpoints import fill, full_disk, make, names
checkpoints = make(sys.argv[1])
fill(checkpoints, 5)
"""
SAVE = OTHER_PROCESS + "checkpoints.save({'epoch': 6})\n"
SAVE_WHILE_THE_DISK_FILLS_UP = f"""{OTHER_PROCESS}
for size in (100, 4096):
    try:
        with full_disk(size):
            checkpoints.save({{'epoch': 6}})
    except OSError as error:
        assert "unchanged" in str(error)
        print(names(checkpoints))
"""


@pytest.mark.slow
def test_a_disk_that_fills_up_keeps_the_last_checkpoint(saved):
    pytest.importorskip("resource", reason="needs POSIX limits of file size")
    backend = keras.config.backend()
    printed = run_on(backend, SAVE_WHILE_THE_DISK_FILLS_UP, saved.folder, timeout=120)
    assert_restores(make(saved.folder), 1)
    assert printed == "['000001']\n" * 2


@pytest.mark.slow
@pytest.mark.every_backend
@other_backends
def test_restores_a_checkpoint_of_another_backend(saved, other):
    run_on(other, SAVE, saved.folder)
    assert_restores(make(saved.folder), 5, {"epoch": 6})


# Refused checkpoints


def assert_refused(checkpoints):
    """Checks that restoring fails and changes no variable."""
    fill(checkpoints, 7)
    before = values(checkpoints)
    with pytest.raises(ValueError, match=r"000001 does not match this run, or is damaged: "):
        checkpoints.restore()
    assert values(checkpoints) == before


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"units": 5}, r'the model is \["Sequential".*"units": 5.*Received: .*"units": 4'),
        ({"optimizer": keras.optimizers.SGD}, r"the optimizer is SGD\. Received: Adam$"),
        ({"optimizer": keras.optimizers.AdamW}, r"the optimizer is AdamW\. Received: Adam$"),
    ],
    ids=["another size", "another optimizer", "an optimizer with the same variables"],
)
def test_refuses_a_checkpoint_of_another_model(saved, other, message):
    checkpoints = make(saved.folder, **other)
    assert_refused(checkpoints)
    with pytest.raises(ValueError, match=message):
        checkpoints.restore()


def test_refuses_a_checkpoint_that_lacks_a_variable(saved):
    path = saved.folder / "000001" / "variables.h5"
    with h5py.File(path, "r+") as file:
        del file["model/0000"]
    assert_refused(saved)
    with pytest.raises(ValueError, match=r"has \d+ variables, number .*Received: "):
        saved.restore()


@pytest.mark.parametrize("name", ["counters.json", "variables.h5"])
@pytest.mark.parametrize(
    "damage", [lambda x: b"", lambda x: x[: len(x) // 2], lambda x: b"\xff" * 99]
)
def test_refuses_a_damaged_checkpoint(saved, name, damage):
    path = saved.folder / "000001" / name
    path.write_bytes(damage(path.read_bytes()))
    assert_refused(saved)


@pytest.mark.parametrize("name", ["counters.json", "variables.h5"])
def test_refuses_an_incomplete_checkpoint(saved, name):
    (saved.folder / "000001" / name).unlink()
    assert_refused(saved)


def test_refuses_a_checkpoint_with_a_corrupt_hdf5_structure(saved):
    path = saved.folder / "000001" / "variables.h5"
    content = path.read_bytes()
    before, _, after = content.rpartition(b"SNOD")  # signature of an HDF5 symbol table node
    path.write_bytes(before + b"XXXX" + after)
    assert_refused(saved)


def test_counters_are_human_readable(saved):
    text = (saved.folder / "000001" / "counters.json").read_text(encoding="utf-8")
    assert json.loads(text) == COUNTERS


def test_a_checkpoint_with_data_in_another_file_is_refused(saved, tmp_path):
    before = values(saved)
    [folder] = saved.folder.iterdir()
    (folder / "variables.h5").rename(tmp_path / "secret.h5")
    with h5py.File(folder / "variables.h5", "w") as file:
        file["model"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/model")
    with pytest.raises(ValueError, match="must not contain soft or external links"):
        saved.restore()
    assert values(saved) == before


def test_a_variable_of_another_dtype_is_refused(saved):
    with h5py.File(saved.folder / "000001" / "variables.h5", "r+") as file:
        shape = file["model/0000"].shape
        del file["model/0000"]
        file["model/0000"] = np.zeros(shape, "int32")
    with pytest.raises(ValueError, match=r"must be stored as float32\. Received: int32"):
        saved.restore()


def test_a_group_in_place_of_a_variable_is_refused(saved):
    before = values(saved)
    [folder] = saved.folder.iterdir()
    with h5py.File(folder / "variables.h5", "r+") as file:
        del file["model/0001"]
        file.create_group("model/0001")
    with pytest.raises(ValueError, match="does not match this run, or is damaged"):
        saved.restore()
    assert values(saved) == before
