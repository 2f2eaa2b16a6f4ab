"""Exports a trained run as a smaller run folder, for translating only."""

import shutil
from pathlib import Path

from keras_transformer._utils.files import atomic_replace, check_overwriting
from keras_transformer._utils.types import PathLike
from keras_transformer.runs.folder import RunFolder

_COPIED = (
    "config.json", "model.json", "source_tokenizer.json", "target_tokenizer.json", "test.tsv",
    "history.csv",
)  # fmt: skip
_MARKER = "exported.txt"


def export_float16(
    run: PathLike, folder: PathLike, overwrite: bool = False, weights: str = "best"
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
    model = RunFolder(run).read_model("float16", weights)
    with atomic_replace(folder) as temporary:
        temporary.mkdir()
        for name in _COPIED:
            if (run / name).exists():
                shutil.copy(run / name, temporary)
        RunFolder(temporary).write_weights(model)
        (temporary / _MARKER).write_text(f"The run {run.name} with weights in float16.\n", "utf-8")
