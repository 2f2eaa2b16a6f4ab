"""Errors of distributed training."""


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
