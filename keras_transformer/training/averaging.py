"""Weight averages, which often score better than the weights of any single step."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
from keras import ops

from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.hdf5 import check_hdf5
from keras_transformer._utils.types import PathLike


@contextlib.contextmanager
def averaged_weights(model, optimizer):
    """Replaces the weights of the model by their EMA inside a `with` block.

    Args:
        model: a built model.
        optimizer: its optimizer. Without `use_ema`, the weights stay as they are.
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
    if not inner.use_ema:
        yield
        return
    variables = model.trainable_variables
    values = [ops.convert_to_numpy(variable) for variable in variables]
    inner.finalize_variable_values(variables)
    try:
        yield
    finally:
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)


def average_weights(files: Sequence[Path], path: PathLike) -> None:
    """Averages several weight files of one model and writes the result (checkpoint averaging).

    Args:
        files: paths of `.weights.h5` files, at least one.
        path: path of the file to write.

    Raises:
        ValueError: if there is no file, a file holds more than plain numbers, or the files belong
            to different models.
        OSError: if a file cannot be read or written.
    """
    if not files:
        raise ValueError("Give at least one weight file to average. Received: no files")
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(_open(file)) for file in files]
        temporary = stack.enter_context(atomic_replace(path))
        temporary.write_bytes(files[0].read_bytes())
        with h5py.File(temporary, "r+") as result:
            for name in _datasets(result):
                if not all(_has(x, name, result[name]) for x in opened):
                    raise ValueError(f"The files must be from one model. Received: {name} differs")
                if np.issubdtype(result[name].dtype, np.floating):
                    result[name][...] = np.mean([x[name][()] for x in opened], axis=0)


def _open(file):
    try:
        check_hdf5(file)
        return h5py.File(file, "r")
    except OSError as error:
        raise OSError(f"{file} cannot be read: {error}") from None


def _has(file, name, dataset):
    """Returns whether a file has a dataset of this name, and of the same shape and dtype."""
    found = file.get(name)
    return isinstance(found, h5py.Dataset) and (found.shape, found.dtype) == (
        dataset.shape,
        dataset.dtype,
    )


def _datasets(file):
    names = []
    file.visititems(lambda name, x: names.append(name) if isinstance(x, h5py.Dataset) else None)
    return names
