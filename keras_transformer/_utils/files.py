"""Writing that never harms what was written before."""

import contextlib
import os
import shutil
from pathlib import Path

_CHUNK = 1 << 20  # bytes


@contextlib.contextmanager
def replacing(path):
    """Writes a file or a folder beside its place and moves it there when it is whole.

    Args:
        path: where the result shall be. What is there is replaced.

    Yields:
        The `Path` to write to. It has the suffixes of `path`.

    Raises:
        OSError: if writing fails, a full disk included; `path` is then as it was before.

    Example:
        >>> with replacing("notes.txt") as beside:
        ...     beside.write_text("whole or not at all")
    """
    path = Path(path)
    beside = path.with_name(f"partial-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove(beside)  # what a killed process left
        yield beside
        _flush(beside)
        _move(beside, path)
    except OSError as error:
        raise OSError(
            f"{path} could not be written: {error}. What was saved before is unharmed."
        ) from error
    finally:
        _remove(beside)


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


def reserve(path, size):
    """Raises an OSError now if a file of `size` bytes cannot be written.

    For libraries that would crash in the middle of writing.
    """
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
