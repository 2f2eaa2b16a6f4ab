"""Safe file writing: a failure never damages existing files."""

import contextlib
import math
import os
import shutil
import uuid
from pathlib import Path

PARTIAL = "partial-"  # the beginning of the names of temporary files
_CHUNK = 1 << 20  # bytes
_HEADER = 1 << 13  # bytes: an upper bound of the metadata of an HDF5 file and of each variable


@contextlib.contextmanager
def atomic_replace(path, unique=False):
    """Replaces a file or folder atomically: writes to a temporary path, then renames it.

    Args:
        path: path of the result. An existing file is replaced by a file, a folder by a folder.
        unique: whether the temporary path is new in every call, so that several processes may write
            to `path` at a time. The caller then removes what killed processes leave
            (`PARTIAL` + "*").

    Yields:
        The temporary `Path` to write to. It has the same suffixes as `path`.

    Raises:
        OSError: if writing fails, for example because the disk is full or `path` is a folder and
            the result a file; `path` is then unchanged.

    Example:
        >>> with atomic_replace("notes.txt") as temporary:
        ...     temporary.write_text("all or nothing")
    """
    path = Path(path)
    name = f"{uuid.uuid4().hex}-{path.name}" if unique else path.name
    temporary = path.with_name(PARTIAL + name)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError("not a regular file, such as a device")
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(temporary)  # an interrupted process may have left one
        yield temporary
        _flush(temporary)
        _move(temporary, path)
    except OSError as error:
        raise OSError(
            f"{path} could not be written: {error}. Existing data is unchanged."
        ) from error
    finally:
        _remove(temporary)


def check_overwriting(folder, marker, overwrite):
    """Raises a FileExistsError if an export would replace a folder that it must not replace.

    Args:
        folder: path of the folder to export to.
        marker: name of a file that identifies an earlier export.
        overwrite: whether an earlier export may be replaced.
    """
    folder = Path(folder)
    if folder.exists() and not (overwrite and (folder / marker).is_file()):
        raise FileExistsError(
            "The folder already exists. Choose a different one, or set `overwrite` to replace an "
            f"earlier export, that is, a folder that contains {marker}. Received: {folder}"
        )


def reserve(path, variables):
    """Raises an OSError if the disk has no space for an HDF5 file of variables.

    Call this before HDF5 writes the file: HDF5 crashes the process when the disk fills up. The file
    is created with its full size.

    Args:
        path: path of the HDF5 file.
        variables: list of the Keras variables to write.
    """
    numbers = sum(math.prod(x.shape) * (8 if "64" in x.dtype else 4) for x in variables)
    size = numbers + (len(variables) + 1) * _HEADER
    with open(path, "wb") as file:
        for start in range(0, size, _CHUNK):
            file.write(bytes(min(_CHUNK, size - start)))
    _flush(path)


def _flush(path):
    """Flushes a file or folder to the disk, because a full disk may raise its error only then."""
    for file in path.rglob("*") if path.is_dir() else [path]:
        if not file.is_dir():
            with open(file, "rb+") as opened:
                os.fsync(opened.fileno())


def _move(new, path):
    if not (new.is_dir() and path.is_dir()):
        os.replace(new, path)  # raises an OSError if one of them is a folder
        return
    # A rename cannot replace an existing folder, so that one is renamed first. If the process is
    # killed in between, both folders are complete.
    old = path.with_name(f"old-{uuid.uuid4().hex}-{path.name}")
    os.replace(path, old)
    try:
        os.replace(new, path)
    except OSError:
        os.replace(old, path)
        raise
    _remove(old)


def _remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
