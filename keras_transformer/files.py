"""Writing that never harms what was written before."""

import contextlib
import os
import shutil
from pathlib import Path


@contextlib.contextmanager
def replacing(path):
    """Writes a file or a folder beside its place and moves it there when it is whole.

    Args:
        path: where the result shall be. A file that is there is replaced; a folder must be new.

    Yields:
        The `Path` to write to. It has the suffixes of `path`.

    Raises:
        OSError: if writing fails, a full disk included; `path` is then as it was before.

    Example:
        >>> with replacing("notes.txt") as beside:
        ...     beside.write_text("whole or not at all")
    """
    path = Path(path)
    beside = path.with_name(f"partial-{os.getpid()}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        _flush(beside)
        os.replace(beside, path)
    except (OSError, RuntimeError) as error:  # HDF5 reports a full disk as either
        raise OSError(
            f"{path} could not be written: {error}. What was saved before is unharmed."
        ) from error
    finally:
        _remove(beside)


def _flush(path):
    """Waits until the disk has it all: a full one may say so only now."""
    for file in path.iterdir() if path.is_dir() else [path]:
        with open(file, "rb+") as opened:
            os.fsync(opened.fileno())


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
