"""Exports a trained run as a smaller run folder, for translating only."""

import shutil
from pathlib import Path

import h5py
import numpy as np

from keras_transformer._utils.files import atomic_replace, check_overwriting, reserve
from keras_transformer._utils.types import PathLike
from keras_transformer.runs.folder import MakeModel, RunFolder

_COPIED = (
    "config.json", "model.json", "source_tokenizer.json", "target_tokenizer.json", "test.tsv",
    "curve.csv",
    "history.csv",
)  # fmt: skip
_MARKER = "exported.txt"


def export_float16(
    run: PathLike,
    folder: PathLike,
    overwrite: bool = False,
    weights: str = "best",
    make_model: MakeModel | None = None,
) -> None:
    """Writes a run folder with weights in float16, half the size, and without checkpoints.

    `Translate.from_run` loads it and computes in float32, as for any run. It cannot be trained
    further.

    Args:
        run: path of the folder of a trained run.
        folder: path of the output folder.
        overwrite: whether to replace an existing export. It is replaced only once the new one is
            complete.
        weights: name of the weights, see `RunFolder.read_model`. In the export they are "best".
        make_model: function that makes the model, see `RunFolder.read_model`.

    Raises:
        FileExistsError: if `folder` exists and is not an export to overwrite.
        FileNotFoundError: if a file of the run is missing.
        OSError: if writing fails.
        ValueError: if a file of the run is damaged, or a weight is too large for float16.

    Example:
        export_float16("runs/english-german", "small-run")
        kt.Translate.from_run("small-run")("I am hungry.")
    """
    run, folder = Path(run), Path(folder)
    check_overwriting(folder, _MARKER, overwrite)
    model = RunFolder(run).read_model(weights=weights, make_model=make_model)
    with atomic_replace(folder) as temporary:
        temporary.mkdir()
        for name in _COPIED:
            if (run / name).exists():
                shutil.copy(run / name, temporary)
        _write_float16(model, RunFolder(temporary))
        text = f"The run {run.name} with weights in float16.\n"
        (temporary / _MARKER).write_text(text, "utf-8", errors="replace")


def _write_float16(model, run):
    """Saves the weights of a model in float32, then copies the file with its arrays in float16.

    A model in float16 would do both at once, but JAX cannot initialize a recurrent one.
    """
    run.write_weights(model, "float32")
    reserve(run.weights, model.variables)
    exact = run.weights_file("float32")
    with h5py.File(exact) as source, h5py.File(run.weights, "w") as target:

        def copy(name, item):
            if isinstance(item, h5py.Dataset):
                target[name] = to_float16(item[()], name)
            else:
                target.create_group(name)
            target[name].attrs.update(item.attrs)

        source.visititems(copy)
    exact.unlink()


def to_float16(values, name):
    """Returns an array of floats in float16, and any other unchanged.

    Args:
        values: an array.
        name: its name for the message.

    Raises:
        ValueError: if a number is too large.
    """
    if not np.issubdtype(values.dtype, np.floating):
        return values
    with np.errstate(over="ignore"):
        values = values.astype("float16")
    if not np.isfinite(values).all():
        raise ValueError(
            f"The weights must be at most 65,504 in float16. Received: a larger one in {name}"
        )
    return values
