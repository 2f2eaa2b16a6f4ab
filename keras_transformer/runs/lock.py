"""A lock for the folder of a run."""

import contextlib
import json
import os
import socket
from pathlib import Path

from filelock import FileLock, Timeout

from keras_transformer._utils.reading import read_json

_TIMEOUT = 1.0  # seconds; the processes of a distributed run look at the lock at the same time


@contextlib.contextmanager
def training_lock(folder):
    """Lets only one process at a time train in a folder.

    The operating system releases the lock when the process ends, even if it is killed. The lock
    file is a hidden file next to the folder, which need not exist yet.

    Args:
        folder: path of the run folder.

    Raises:
        BlockingIOError: if another process trains in this folder.
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
            f"This run is being trained by {_describe(holder)}: wait, stop it, or choose another "
            f"folder. Received: {folder}"
        ) from None


def _describe(holder):
    try:
        found = read_json(holder, max_bytes=1000)
        return f"process {int(found['process'])} on host {str(found['host'])[:80]}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
