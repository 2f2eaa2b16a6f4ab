"""Everything needed to go on as if nothing had happened."""

import itertools
import json
import re
import shutil
from pathlib import Path

import h5py
from keras import ops

from keras_transformer._utils.files import atomic_replace, reserve
from keras_transformer.settings import renamed


class Checkpoints:
    """Numbered folders, each with all variables (HDF5) and the counters (JSON).

    The variables are those of the model, the states of its random generators included, and of the
    optimizer, in the order in which they were made: the same on every backend. A checkpoint appears
    when it is whole, and only then are older ones removed.

    Args:
        folder: where they are.
        model: a built model.
        optimizer: a built optimizer.
    """

    def __init__(self, folder, model, optimizer):
        self.folder = Path(folder)
        self._variables = {"model": model.variables, "optimizer": optimizer.variables}
        self._made_of = {"model": _description(model), "optimizer": _kinds(optimizer)}

    def save(self, counters):
        """Writes a checkpoint and then removes the older ones.

        Args:
            counters: what the training loop counts, as JSON can hold it.

        Raises:
            OSError: if it cannot be written; the last checkpoint is then still there.
        """
        older = self._found()
        number = max(older) + 1 if older else 1
        with atomic_replace(self.folder / f"{number:06d}") as temporary:
            temporary.mkdir()
            self._write_variables(temporary / "variables.h5")
            (temporary / "counters.json").write_text(json.dumps(counters), encoding="utf-8")
        for checkpoint in older.values():
            shutil.rmtree(checkpoint, ignore_errors=True)

    def restore(self):
        """Sets all variables to those of the last checkpoint.

        Returns:
            The counters, or None if there is no checkpoint.

        Raises:
            ValueError: if the checkpoint is of another model or optimizer, or damaged.
        """
        found = self._found()
        if not found:
            return None
        newest = found[max(found)]
        try:
            counters = json.loads((newest / "counters.json").read_text(encoding="utf-8"))
            if not isinstance(counters, dict):
                raise ValueError(f"the counters must be named. Received: {counters!r}")
            self._read_variables(newest / "variables.h5")
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"The checkpoint {newest} does not fit this run, or is damaged: {error}"
            ) from None
        return counters

    def _found(self):
        folders = self.folder.iterdir() if self.folder.exists() else ()
        return {int(path.name): path for path in folders if re.fullmatch(r"\d{6}", path.name)}

    def _write_variables(self, path):
        reserve(path, [x for variables in self._variables.values() for x in variables])
        with h5py.File(path, "w") as file:
            file.attrs.update(self._made_of)
            for group, variables in self._variables.items():
                for i, variable in enumerate(variables):
                    value = ops.convert_to_numpy(variable)
                    dataset = file.create_dataset(f"{group}/{i:04d}", data=value)
                    dataset.attrs["path"] = variable.path  # for those who look inside

    def _read_variables(self, path):
        with h5py.File(path, "r") as file:
            _check_made_of(self._made_of, dict(file.attrs))
            saved = {
                group: [file[group][name][()] for name in sorted(file[group])]
                for group in self._variables
            }
        for group, variables in self._variables.items():
            _check_shapes(group, [v.shape for v in variables], [x.shape for x in saved[group]])
        for group, variables in self._variables.items():
            for variable, value in zip(variables, saved[group], strict=True):
                variable.assign(value)


def _description(model):
    """What a model is, as JSON, without what changes no result but its precision."""
    config = _essentials(model.get_config())
    return json.dumps([type(model).__name__, config], sort_keys=True, default=str)


def _essentials(config):
    if isinstance(config, dict):
        kept = renamed(config).items()
        return {key: _essentials(value) for key, value in kept if key not in _INESSENTIAL}
    return [_essentials(x) for x in config] if isinstance(config, (list, tuple)) else config


_INESSENTIAL = {"name", "dtype", "enc_seq_length", "dec_seq_length"}


def _kinds(optimizer):
    """The class of an optimizer, and of the one inside that it scales the loss for."""
    inner = getattr(optimizer, "inner_optimizer", None)
    return type(optimizer).__name__ + (f" {_kinds(inner)}" if inner is not None else "")


def _check_made_of(expected, found):
    for part, ours in expected.items():
        theirs = found.get(part)
        if not (_same_model(ours, theirs) if part == "model" else ours == theirs):
            raise ValueError(f"the {part} is {ours}. Received: {theirs}")


def _same_model(ours, theirs):
    """Whether two descriptions agree in all options that both versions have."""
    try:
        (kind, config), (other_kind, other) = json.loads(ours), json.loads(theirs)
        other = _essentials(other)
        return kind == other_kind and all(config[x] == other[x] for x in config.keys() & other)
    except (TypeError, ValueError, AttributeError):
        return False


def _check_shapes(group, expected, found):
    for i, (ours, theirs) in enumerate(itertools.zip_longest(expected, found)):
        if ours is None or theirs is None or tuple(ours) != tuple(theirs):
            raise ValueError(
                f"the {group} has {len(expected)} variables, number {i} of shape {ours}. "
                f"Received: {len(found)} variables, number {i} of shape {theirs}"
            )
