"""Averages of weights, which often translate better than any of them."""

import contextlib

import h5py
import numpy as np
from keras import ops

from keras_transformer._utils.files import atomic_replace


@contextlib.contextmanager
def averaged_weights(model, optimizer):
    """Puts the moving averages of the optimizer into the model, inside the `with` block.

    Args:
        model: a built model.
        optimizer: its optimizer. If it keeps no averages (`use_ema`), nothing is changed.
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)  # of one that scales the loss
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


def average_weights(files, path):
    """Writes the mean of several files of weights of one model.

    Args:
        files: paths of `.weights.h5` files, at least one.
        path: the file to write.

    Raises:
        ValueError: if there is no file, or the files are of different models.
        OSError: if a file cannot be read or written.
    """
    if not files:
        raise ValueError("There are no weights to average. Received: no files")
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(_open(file)) for file in files]
        temporary = stack.enter_context(atomic_replace(path))
        temporary.write_bytes(files[0].read_bytes())
        with h5py.File(temporary, "r+") as result:
            for name in _datasets(result):
                if any(name not in x or x[name].shape != result[name].shape for x in opened):
                    raise ValueError(f"The files must be of one model. Received: {name} differs")
                if np.issubdtype(result[name].dtype, np.floating):
                    result[name][...] = np.mean([x[name][()] for x in opened], axis=0)


def _open(file):
    try:
        return h5py.File(file, "r")
    except OSError as error:
        raise OSError(f"{file} cannot be read: {error}") from None


def _datasets(file):
    names = []
    file.visititems(lambda name, x: names.append(name) if isinstance(x, h5py.Dataset) else None)
    return names
