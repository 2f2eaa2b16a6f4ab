"""Context managers that record attention weights, queries and keys."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras

from keras_transformer._utils.types import Tensor
from keras_transformer.layers._fused_attention import repeat_heads
from keras_transformer.layers._parts import walk

_weights = contextvars.ContextVar("attention_weights", default=None)
_queries_and_keys = contextvars.ContextVar("queries_and_keys", default=None)


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
    with _recording(_weights) as recorded:
        yield recorded


@contextlib.contextmanager
def record_queries_and_keys():
    """Records the inputs of all `DotProductAttention` layers called in the `with` block.

    Yields:
        A dictionary from the attention layer to the queries, (..., T, d_k), and the keys,
        (..., S, d_k), of its last call.
    """
    with _recording(_queries_and_keys) as recorded:
        yield recorded


class Recording(dict[keras.layers.Layer, Any]):
    """The value of the last call of each layer.

    Attributes:
        calls: list of (layer, value) of all calls in their order. A shared layer occurs repeatedly.
    """

    def __init__(self, calls=()):
        super().__init__(calls)
        self.calls = list(calls)

    def add(self, layer, value):
        self[layer] = value
        self.calls.append((layer, value))


def take_call(calls, part):
    """Removes the first call of a part, or of a layer inside it, from `Recording.calls`.

    Returns:
        Its value; None if there is no such call.
    """
    inside = [] if part is None else list(walk(part))
    found = (i for i, (layer, _) in enumerate(calls) if any(layer is x for x in inside))
    index = next(found, None)
    return None if index is None else calls.pop(index)[1]


@contextlib.contextmanager
def _recording(variable):
    recorded = Recording()
    token = variable.set(recorded)
    try:
        yield recorded
    finally:
        variable.reset(token)


def store_attention(layer: keras.layers.Layer, weights: Tensor) -> None:
    """Stores attention weights in the innermost `record_attention`, if there is one.

    An attention layer of your own calls it, so that its weights can be returned and plotted.

    Args:
        layer: the layer that computes the weights.
        weights: attention weights, (B, N, T, S), before dropout.
    """
    if (recorded := _weights.get()) is not None:
        recorded.add(layer, weights)


def store_queries_and_keys(layer, queries, keys):
    """Stores queries and keys in the innermost `record_queries_and_keys`, if there is one."""
    if (recorded := _queries_and_keys.get()) is not None:
        if len(queries.shape) == 4:
            keys = repeat_heads(keys, queries)
        recorded.add(layer, (queries, keys))


def is_recording():
    """Returns whether `record_attention` is active."""
    return _weights.get() is not None
