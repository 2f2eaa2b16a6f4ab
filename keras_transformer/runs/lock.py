"""A lock for a folder that one process writes."""

import contextlib
import json
import os
import socket
from pathlib import Path

from filelock import FileLock, Timeout

from keras_transformer._utils.reading import read_json

_TIMEOUT = 1.0  # seconds; the processes of a distributed run look at the lock at the same time


@contextlib.contextmanager
def folder_lock(folder, state):
    """Lets only one process at a time write to a folder.

    The operating system releases the lock when the process ends, even if it is killed. The lock
    file is a hidden file next to the folder, which need not exist yet.

    Args:
        folder: path of the folder.
        state: what another process does with it, for the message, such as "This run is being
            trained".

    Raises:
        BlockingIOError: if another process holds the lock.
    """
    folder = Path(folder).absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.with_name(f".{folder.name}.lock")
    holder = path.with_suffix(".json")
    try:
        with FileLock(path, timeout=_TIMEOUT):
            # Not atomic: it is only read for a message.
            holder.write_text(json.dumps({"process": os.getpid(), "host": socket.gethostname()}))
            try:
                yield
            finally:
                holder.unlink(missing_ok=True)
    except Timeout:
        raise BlockingIOError(
            f"{state} by {_describe(holder)}: wait, stop it, or choose another "
            f"folder. Received: {folder}"
        ) from None


def training_lock(folder):
    """Lets only one process at a time train in a run folder; see `folder_lock`."""
    return folder_lock(folder, "This run is being trained")


def _describe(holder):
    try:
        found = read_json(holder, max_bytes=1000)
        return f"process {int(found['process'])} on host {str(found['host'])[:80]}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
