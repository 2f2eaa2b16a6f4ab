"""Runs of several processes."""


def lost_process(error):
    """What to raise when a process that computes with others hears no more of them.

    Args:
        error: what the backend has raised.

    Returns:
        A `ConnectionError`.
    """
    reason = str(error).strip().split("\n")[0]
    return ConnectionError(
        "Another process of this run has ended or cannot be reached, so this one ends as well. "
        f"Start all of them again and go on by --resume. Received: {reason}"
    )
