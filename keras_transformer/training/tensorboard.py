"""Logging for TensorBoard."""


def tensorboard_writer(folder):
    """Returns a writer of TensorBoard logs.

    Args:
        folder: path of the log folder.

    Returns:
        A writer with the methods `add_scalar(name, value, step)` and `flush()`.

    Raises:
        ValueError: if the package `tensorboard` is not installed.
    """
    try:
        from tensorboard.summary import Writer
    except ImportError as error:
        raise ValueError(
            "TensorBoard logs need the package tensorboard: pip install tensorboard. "
            f"Received: {error}"
        ) from None
    return Writer(str(folder))
