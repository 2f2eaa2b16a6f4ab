"""The recorders of attention weights, and of the queries and keys that they are made of."""

import contextlib
import contextvars

_recorder = contextvars.ContextVar("attention_recorder", default=None)
_vectors_recorder = contextvars.ContextVar("vectors_recorder", default=None)


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
    with _recording(_recorder) as weights:
        yield weights


@contextlib.contextmanager
def record_vectors():
    """Collects the queries and keys of every `DotProductAttention`, as `record_attention` does.

    Yields:
        A dictionary from the attention layer to its queries (..., T, d_k) and keys (..., S, d_k).
    """
    with _recording(_vectors_recorder) as vectors:
        yield vectors


@contextlib.contextmanager
def _recording(recorder):
    recorded = {}
    token = recorder.set(recorded)
    try:
        yield recorded
    finally:
        recorder.reset(token)


def note_attention(layer, weights):
    """Hands the weights of an attention layer to the innermost `record_attention`, if any."""
    if (recorded := _recorder.get()) is not None:
        recorded[layer] = weights


def note_vectors(layer, queries, keys):
    """Hands the vectors of an attention layer to the innermost `record_vectors`, if any."""
    if (recorded := _vectors_recorder.get()) is not None:
        recorded[layer] = (queries, keys)


def is_recording():
    """Whether this runs inside `record_attention`."""
    return _recorder.get() is not None
