"""Curves for TensorBoard."""


def tensorboard_writer(folder):
    """What writes scalars into a folder that TensorBoard shows.

    Args:
        folder: path of the folder.

    Returns:
        A writer with the methods `add_scalar(name, value, step)` and `flush()`.

    Raises:
        ValueError: if the package `tensorboard` is not installed.
    """
    try:
        from tensorboard.summary import Writer
    except ImportError as error:
        raise ValueError(
            "The curves for TensorBoard need its package: pip install tensorboard. "
            f"Received: {error}"
        ) from None
    return Writer(str(folder))
