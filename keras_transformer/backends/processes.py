"""Connections between the processes of distributed training."""

import socket
import time

_PATIENCE = 300.0  # seconds, in which all hosts start
_INTERVAL = 0.5  # seconds between two attempts


def wait_for_first_process(address):
    """Waits until the first process listens, because the backends end or wait without a message.

    Args:
        address: its host and port, such as "host1:2222".

    Raises:
        ConnectionError: if nothing listens there in time.
    """
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE):
                return
        except (OSError, OverflowError, ValueError) as error:
            if time.monotonic() >= deadline or not isinstance(error, OSError):
                raise ConnectionError(
                    f"The first process does not listen at {address}: check this address, and "
                    f"start all processes within {_PATIENCE:g} seconds. Received: {error}"
                ) from error
        time.sleep(_INTERVAL)


def lost_process_error(error):
    """Converts a backend's error about an unreachable process to a `ConnectionError`.

    Args:
        error: the exception that the backend raised.

    Returns:
        A `ConnectionError` that says how to resume.
    """
    reason = str(error).strip().split("\n")[0]
    return ConnectionError(
        "Another process of this run has ended or cannot be reached, so this one ends as well. "
        f"Start all processes again with --resume. Received: {reason}"
    )
