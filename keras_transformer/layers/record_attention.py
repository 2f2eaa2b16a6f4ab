"""Records attention weights, queries and keys."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras

from keras_transformer._utils.types import Tensor
from keras_transformer.layers._parts import walk

_recorded: contextvars.ContextVar[Any] = contextvars.ContextVar("recorded", default=None)


@contextlib.contextmanager
def record_attention() -> Iterator[dict[keras.layers.Layer, Tensor]]:
    """Records the attention weights of all attention layers called in the `with` block.

    The forward pass does not change. In a traced function, such as a `tf.function`, use the `with`
    block inside the function and return the weights from it.

    Yields:
        A dictionary from the attention layer to the weights of its last call, before dropout. Its
        keys are the layers that compute the weights: in `MultiHeadAttention`, `attention`.

    Example:
        >>> layer = kt.MultiHeadAttention(h=2, d_k=4, d_v=4, d_model=8)
        >>> x = np.ones((1, 3, 8))
        >>> with kt.record_attention() as weights:
        ...     y = layer(x, x, x)
        >>> ops.shape(weights[layer.attention])  # (B, N, T, S)
        (1, 2, 3, 3)
    """
    recorded = Recording()
    token = _recorded.set(recorded)
    try:
        yield recorded
    finally:
        _recorded.reset(token)


class Recording(dict[keras.layers.Layer, Any]):
    """The attention weights of the last call of each layer.

    Attributes:
        calls: list of (layer, weights) of all calls in their order. A shared layer occurs
            repeatedly.
        inputs: list of (layer, (queries, keys)), likewise, of `DotProductAttention` layers:
            (..., T, d_k) and (..., S, d_k), the keys perhaps with fewer heads.
    """

    def __init__(self, calls=()):
        super().__init__(calls)
        self.calls = list(calls)
        self.inputs = []


def take_call(calls, part):
    """Removes the first call of a part, or of a layer inside it, from `Recording.calls`.

    Returns:
        Its value; None if there is no such call.
    """
    inside = [] if part is None else list(walk(part))
    found = (i for i, (layer, _) in enumerate(calls) if any(layer is x for x in inside))
    index = next(found, None)
    return None if index is None else calls.pop(index)[1]


def store_attention(layer: keras.layers.Layer, weights: Tensor) -> None:
    """Stores attention weights in the innermost `record_attention`, if there is one.

    An attention layer of your own calls it, so that its weights can be returned and plotted.

    Args:
        layer: the layer that computes the weights.
        weights: attention weights, (B, N, T, S), before dropout.
    """
    if (recorded := _recorded.get()) is not None:
        recorded[layer] = weights
        recorded.calls.append((layer, weights))


def store_queries_and_keys(layer, queries, keys):
    """Stores queries and keys in the innermost `record_attention`, if there is one."""
    if (recorded := _recorded.get()) is not None:
        recorded.inputs.append((layer, (queries, keys)))


def is_recording():
    """Returns whether `record_attention` is active."""
    return _recorded.get() is not None
