"""Checkpoints, from which training resumes exactly where it was."""

import itertools
import json
import re
import shutil
from pathlib import Path

import h5py
import numpy as np
from keras import ops

from keras_transformer._utils.files import atomic_replace, reserve
from keras_transformer._utils.hdf5 import check_hdf5
from keras_transformer._utils.reading import parse_json, read_json
from keras_transformer.settings import upgrade_config


class Checkpoints:
    """Writes and restores checkpoints: numbered folders with variables (HDF5) and counters (JSON).

    The variables are those of the model, including the states of its random seed generators, and
    of the optimizer. They are stored in the order of their creation, which is the same on every
    backend. A checkpoint is written atomically, and older ones are removed only afterwards.

    Args:
        folder: path of the folder that holds the checkpoints.
        model: a built model.
        optimizer: a built optimizer.
    """

    def __init__(self, folder, model, optimizer):
        self.folder = Path(folder)
        self._variables = {"model": model.variables, "optimizer": optimizer.variables}
        self._identity = {
            "model": _model_identity(model),
            "optimizer": _optimizer_name(optimizer),
        }

    def save(self, counters):
        """Writes a checkpoint, then removes the older ones.

        Args:
            counters: JSON-serializable dictionary with the state of the training loop.

        Raises:
            OSError: if the checkpoint cannot be written; the previous one is then kept.
        """
        older = self._by_number()
        number = max(older) + 1 if older else 1
        with atomic_replace(self.folder / f"{number:06d}") as temporary:
            temporary.mkdir()
            self._write_variables(temporary / "variables.h5")
            (temporary / "counters.json").write_text(json.dumps(counters), encoding="utf-8")
        for checkpoint in older.values():
            shutil.rmtree(checkpoint, ignore_errors=True)

    def restore(self):
        """Restores all variables from the last checkpoint.

        Returns:
            The counters, or None if there is no checkpoint.

        Raises:
            ValueError: if the checkpoint belongs to another model or optimizer, or is damaged.
        """
        found = self._by_number()
        if not found:
            return None
        newest = found[max(found)]
        try:
            counters = read_json(newest / "counters.json")
            self._read_variables(newest / "variables.h5")
        except (OSError, AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"The checkpoint {newest} does not match this run, or is damaged: {error}"
            ) from None
        return counters

    def _by_number(self):
        """Returns the paths of the checkpoints in a dictionary by their numbers."""
        folders = self.folder.iterdir() if self.folder.exists() else ()
        return {int(path.name): path for path in folders if re.fullmatch(r"\d{6}", path.name)}

    def _write_variables(self, path):
        reserve(path, self._all_variables())
        with h5py.File(path, "w") as file:
            file.attrs.update(self._identity)
            for group, variables in self._variables.items():
                for i, variable in enumerate(variables):
                    value = ops.convert_to_numpy(variable)
                    dataset = file.create_dataset(f"{group}/{i:04d}", data=value)
                    dataset.attrs["path"] = variable.path  # not read, only for people

    def _read_variables(self, path):
        check_hdf5(path, self._all_variables())
        with h5py.File(path, "r") as file:
            _check_identity(self._identity, dict(file.attrs))
            # Read all of them before assigning any: a damaged file must not change the model.
            values = {
                group: _read_group(group, file[group], variables)
                for group, variables in self._variables.items()
            }
        for group, variables in self._variables.items():
            for variable, value in zip(variables, values[group], strict=True):
                variable.assign(value)

    def _all_variables(self):
        return [x for variables in self._variables.values() for x in variables]


def _model_identity(model):
    """Returns the class and the configuration of a model as JSON, without the ignored keys."""
    try:
        config = _without_ignored(model.get_config())
    except NotImplementedError:  # of a part without a configuration
        config = {}
    return json.dumps([type(model).__name__, config], sort_keys=True, default=str)


def _without_ignored(config):
    if isinstance(config, dict):
        kept = upgrade_config(config).items()
        return {key: _without_ignored(value) for key, value in kept if key not in _IGNORED_KEYS}
    return [_without_ignored(x) for x in config] if isinstance(config, (list, tuple)) else config


# They change no result, or only its precision; the class of a part may move to another module.
_IGNORED_KEYS = {"name", "dtype", "enc_seq_length", "dec_seq_length", "shared_object_id", "module"}
_IGNORED_KEYS |= {"registered_name"}


def _optimizer_name(optimizer):
    """Returns the class name of an optimizer, and that of the inner one of a LossScaleOptimizer."""
    inner = getattr(optimizer, "inner_optimizer", None)
    return type(optimizer).__name__ + (f" {_optimizer_name(inner)}" if inner is not None else "")


def _check_identity(expected, found):
    for part, ours in expected.items():
        theirs = found.get(part)
        if not (_same_model(ours, theirs) if part == "model" else ours == theirs):
            raise ValueError(f"the {part} is {ours}. Received: {str(theirs)[:2000]}")


def _same_model(ours, theirs):
    """Returns whether two models agree in class and in all options that both versions have."""
    try:
        (name, config), (other_name, other) = json.loads(ours), parse_json(theirs, "the model")
        other = _without_ignored(other)
        return name == other_name and all(config[x] == other[x] for x in config.keys() & other)
    except (TypeError, ValueError, AttributeError):
        return False


def _read_group(name, group, variables):
    """Reads the arrays of some variables after a check of all shapes and dtypes."""
    saved = [group[key] for key in sorted(group, key=int)]  # "10000" follows "9999"
    _check_shapes(name, [x.shape for x in variables], [x.shape for x in saved])
    for variable, dataset in zip(variables, saved, strict=True):
        # Integers may have another size, and a sign or none, on the other backend.
        found, expected = (np.dtype(x.dtype).kind.replace("u", "i") for x in (dataset, variable))
        if found != expected:
            raise ValueError(
                f"{variable.path} must be stored as {variable.dtype}. Received: {dataset.dtype}"
            )
    return [x[()] for x in saved]


def _check_shapes(group, expected, found):
    for i, (ours, theirs) in enumerate(itertools.zip_longest(expected, found)):
        if ours is None or theirs is None or tuple(ours) != tuple(theirs):
            raise ValueError(
                f"the {group} has {len(expected)} variables, number {i} of shape {ours}. "
                f"Received: {len(found)} variables, number {i} of shape {theirs}"
            )
