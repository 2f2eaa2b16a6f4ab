"""The recorder of attention weights."""

import contextlib
import contextvars

_recorder = contextvars.ContextVar("attention_recorder", default=None)


@contextlib.contextmanager
def record_attention():
    """Collects the weights of every attention layer that is called inside the `with` block.

    The forward pass stays as it is, so that what is looked at is what is computed. It works where
    layers run: eagerly, or inside the function being traced (return the weights from there).

    Yields:
        A dictionary from the attention layer to its weights of the last call.

    Example:
        >>> with record_attention() as weights:
        ...     multi_head_attention(x, x, x)
        >>> weights[multi_head_attention.attention].shape  # (B, N, T, S)
    """
    weights = {}
    token = _recorder.set(weights)
    try:
        yield weights
    finally:
        _recorder.reset(token)


def note_attention(layer, weights):
    """Hands the weights of an attention layer to the innermost `record_attention`, if any."""
    if (recorded := _recorder.get()) is not None:
        recorded[layer] = weights


def is_recording():
    """Whether this runs inside `record_attention`."""
    return _recorder.get() is not None
