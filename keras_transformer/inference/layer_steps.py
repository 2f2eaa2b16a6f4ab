"""The steps of a language model by its layers, one call each."""

import keras
import numpy as np
from keras import ops

from keras_transformer.backends import backend_module
from keras_transformer.inference.model_search import within_positions

# Tokens of a prompt that are read at once. XLA compiles each length anew, so it reads this many or
# one.
_READ = 32
_READ_UNCOMPILED = 256
_LENGTH = 64  # positions of the first cache, which is doubled when it is full


class LayerSteps:
    """A language model with the methods of `NumpyLanguageModel`, computed by its layers.

    Between the steps the cache is in the memory of NumPy, so a step copies it.

    Args:
        model: a model with the methods `start` and `step` of `TransformerLanguageModel`; prompts
            are faster with its method `read`.
        jit_compile: whether XLA compiles the steps.
    """

    def __init__(self, model, jit_compile):
        self._model = model
        self._call = backend_module().compile_inference(_Steps(model), jit_compile)
        self._exact = bool(jit_compile)
        self._read = 1
        if hasattr(model, "read"):
            self._read = _READ if jit_compile else _READ_UNCOMPILED

    def start(self, source):
        """Returns the empty cache of B rows."""
        return _State(self._model, len(source))

    def step(self, tokens, position, state):
        """Returns the logits of the next token of each row, float32 (R, V)."""
        return self._extend(np.array(tokens, "int32")[:, None], position, state)

    def read(self, tokens, state):
        """Reads the first tokens of each row, int32 (R, T)."""
        position = 0
        while position < tokens.shape[1]:
            rest = tokens.shape[1] - position
            size = min(self._read, rest)
            if self._exact and size < self._read:
                size = 1
            self._extend(tokens[:, position : position + size], position, state)
            position += size

    def _extend(self, tokens, position, state):
        state.grow(position + tokens.shape[1])
        inputs = {f"cache_{i}": x for i, x in enumerate(state.arrays)}
        result = self._call({**inputs, "tokens": tokens, "position": np.int32(position)})
        state.arrays = [result[name] for name in inputs]
        return np.array(result["logits"], "float32")


class _State:
    """The arrays of a cache.

    Attributes:
        arrays: list of NumPy arrays.
    """

    def __init__(self, model, rows):
        self._model, self._rows = model, rows
        self._length = within_positions(model, _LENGTH, 1)
        self.arrays = self._empty(self._length)

    def _empty(self, length):
        cache, _ = self._model.start(np.zeros((self._rows, 1), "int32"), length)
        return [ops.convert_to_numpy(x) for x in keras.tree.flatten(cache)]

    def grow(self, length):
        """Doubles the cache until it holds a number of positions."""
        if length <= self._length:
            return
        doubled = self._length
        while length > doubled:
            doubled *= 2
        self._length = within_positions(self._model, doubled, length)
        larger = [np.array(x) for x in self._empty(self._length)]
        for new, old in zip(larger, self.arrays, strict=True):
            new[tuple(map(slice, old.shape))] = old
        self.arrays = larger


class _Steps(keras.Model):
    def __init__(self, model):
        super().__init__(dtype=model.dtype_policy, name="layer_steps")
        self.model = model
        self.built = True
        one, two = (_shapes(model, size) for size in (1, 2))
        # Of each array of the cache; None for the axes of the rows and the positions.
        self._sizes = [
            [a if a == b else None for a, b in zip(*pair, strict=True)]
            for pair in zip(one, two, strict=True)
        ]

    def _shape(self, i, inputs):
        """Returns the shape of an array, whose sizes a graph of TensorFlow does not know."""
        found = ops.shape(inputs[f"cache_{i}"])
        return [y if x is None else x for x, y in zip(self._sizes[i], found, strict=True)]

    def call(self, inputs):
        tokens, position = inputs["tokens"], inputs["position"]
        structure, memory = self.model.start(tokens, 1)
        arrays = [
            ops.reshape(ops.cast(inputs[f"cache_{i}"], x.dtype), self._shape(i, inputs))
            for i, x in enumerate(keras.tree.flatten(structure))
        ]
        cache = keras.tree.pack_sequence_as(structure, arrays)
        if hasattr(self.model, "read"):
            logits, cache = self.model.read(tokens, position, cache, memory)
        else:
            logits, cache = self.model.step(tokens[:, 0], position, cache, memory)
        outputs = {f"cache_{i}": x for i, x in enumerate(keras.tree.flatten(cache))}
        return {**outputs, "logits": ops.cast(logits, "float32")}


def _shapes(model, size):
    cache, _ = model.start(np.zeros((size, 1), "int32"), size)
    return [tuple(x.shape) for x in keras.tree.flatten(cache)]
