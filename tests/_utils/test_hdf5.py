"""`check_hdf5` accepts plain arrays and refuses everything else."""

import os

import h5py
import keras
import numpy as np
import pytest

from keras_transformer._utils.hdf5 import check_hdf5

ARRAY = np.arange(6.0, dtype="float32").reshape(2, 3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.h5"


def write(path, change=lambda file: None):
    with h5py.File(path, "w") as file:
        file["layers/dense/vars/0"] = ARRAY
        file["layers/dense/vars/1"] = np.arange(3)
        file.attrs["model"] = "a model"
        change(file)


def test_plain_arrays_are_accepted(path):
    write(path)
    check_hdf5(path)
    check_hdf5(path, [keras.Variable(ARRAY)])


def test_keras_weights_are_accepted(tmp_path):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.Dropout(0.1)])
    model.save_weights(tmp_path / "a.weights.h5")
    check_hdf5(tmp_path / "a.weights.h5", model.variables)


def external_link(file):
    file["layers/other"] = h5py.ExternalLink("/etc/hostname", "/")


def soft_link(file):
    file["layers/other"] = h5py.SoftLink("/layers/dense")


def dangling_soft_link(file):
    file["other"] = h5py.SoftLink("/nowhere")


def external_storage(file):
    file.create_dataset("other", (8,), "uint8", external=[("/etc/hostname", 0, 8)])


def virtual_dataset(file):
    layout = h5py.VirtualLayout((2, 3), "float32")
    layout[:] = h5py.VirtualSource("/tmp/another.h5", "layers/dense/vars/0", (2, 3))
    file.create_virtual_dataset("other", layout)


def cycle(file):
    file["layers/again"] = file["layers"]


def strings(file):
    file["other"] = ["some", "texts"]


def references(file):
    file.create_dataset("other", (1,), h5py.ref_dtype)


def named_type(file):
    file["other"] = np.dtype("float32")


def lazy(file):
    file.create_dataset("other", (10**6, 10**6), "float32", chunks=(1000, 1000))


def compressed(file):
    file.create_dataset("other", data=np.zeros(10**6), compression="gzip")


HOSTILE = (
    external_link, soft_link, dangling_soft_link, external_storage, virtual_dataset, cycle, strings,
    references, named_type, lazy, compressed,
)  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE, ids=lambda change: change.__name__)
def test_other_hdf5_features_are_refused(path, change):
    write(path, change)
    with pytest.raises(ValueError, match=rf"{path.name} must .*Received: "):
        check_hdf5(path)


def test_a_file_far_larger_than_the_model_is_refused(path):
    write(path, lambda file: file.create_dataset("other", data=np.ones(5 * 10**6, "float32")))
    check_hdf5(path)
    with pytest.raises(ValueError, match="must have at most 16,777,312 bytes"):
        check_hdf5(path, [keras.Variable(ARRAY)])


def test_other_file_formats_are_refused(path):
    path.write_bytes(b"PK\3\4 something else")
    with pytest.raises(ValueError, match="not an HDF5 file"):
        check_hdf5(path)


def test_a_pipe_is_refused_without_blocking(path):
    os.mkfifo(path)
    with pytest.raises(ValueError, match="regular file"):
        check_hdf5(path)
