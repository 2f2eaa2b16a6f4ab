"""Writing that never harms what was written before."""

import contextlib
import math
import os
import shutil
from pathlib import Path

_CHUNK = 1 << 20  # bytes
_HEADER = 1 << 13  # bytes: more than HDF5 writes about a variable, or about a file


@contextlib.contextmanager
def atomic_replace(path):
    """Writes a file or a folder beside its place and moves it there when it is whole.

    Args:
        path: where the result shall be. What is there is replaced.

    Yields:
        The `Path` to write to. It has the suffixes of `path`.

    Raises:
        OSError: if writing fails, a full disk included; `path` is then as it was before.

    Example:
        >>> with atomic_replace("notes.txt") as temporary:
        ...     temporary.write_text("whole or not at all")
    """
    path = Path(path)
    temporary = path.with_name(f"partial-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(temporary)  # what a killed process left
        yield temporary
        _flush(temporary)
        _move(temporary, path)
    except OSError as error:
        raise OSError(
            f"{path} could not be written: {error}. What was saved before is unharmed."
        ) from error
    finally:
        _remove(temporary)


def check_overwriting(folder, mark, overwrite):
    """Raises a FileExistsError if a folder is there that must not be replaced.

    Args:
        folder: path of the folder.
        mark: name of the file by which a folder is known that may be replaced.
        overwrite: whether such a folder may be.
    """
    folder = Path(folder)
    if folder.exists() and not (overwrite and (folder / mark).is_file()):
        raise FileExistsError(
            "Something is there already. Give another folder, or allow to overwrite an earlier "
            f"export (a folder with a {mark}). Received: {folder}"
        )


def reserve(path, variables):
    """Raises an OSError now if the disk has no room for an HDF5 file of variables.

    HDF5 itself would crash the process in mid-file.

    Args:
        path: where the file will be.
        variables: list of Keras variables.
    """
    numbers = sum(math.prod(x.shape) * (8 if "64" in x.dtype else 4) for x in variables)
    size = numbers + (len(variables) + 1) * _HEADER
    with open(path, "wb") as file:
        for start in range(0, size, _CHUNK):
            file.write(bytes(min(_CHUNK, size - start)))
    _flush(path)


def _flush(path):
    """Waits until the disk has it all: a full one may say so only now."""
    for file in path.rglob("*") if path.is_dir() else [path]:
        if not file.is_dir():
            with open(file, "rb+") as opened:
                os.fsync(opened.fileno())


def _move(new, path):
    if not path.is_dir():
        os.replace(new, path)
        return
    # A folder cannot be renamed to one that is there. A process that is killed meanwhile leaves
    # both, whole.
    old = path.with_name(f"old-{path.name}")
    _remove(old)
    os.replace(path, old)
    try:
        os.replace(new, path)
    except OSError:
        os.replace(old, path)
        raise
    _remove(old)


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
