"""Base class of the recurrent decoders."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_choice, check_sizes, check_vectors
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._attention_mask_mixin import AttentionMaskMixin
from keras_transformer.layers._parts import PartsMixin, build_part
from keras_transformer.layers.record_attention import (
    is_recording,
    record_attention,
    store_attention,
    take_call,
)
from keras_transformer.masks import with_implicit_mask

CELLS = {"gru": keras.layers.GRUCell, "lstm": keras.layers.LSTMCell}


class RecurrentDecoder(PartsMixin, AttentionMaskMixin, keras.layers.Layer):
    """A recurrent network that attends to the encoder output at every step.

    The cache of `step` is the recurrent state: a dictionary with "cell", the states of the
    recurrent cell, and entries of the subclass. The initial state of the cell is computed from the
    first vector of the encoder output, where the backward half of a bidirectional encoder has read
    the whole source.
    """

    def __init__(self, units: int, d_model: int, cell: str = "gru", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.d_model = check_sizes(units=units, d_model=d_model)
        check_choice(tuple(CELLS), cell=cell)
        self.cell = cell
        dtype = self.dtype_policy
        self.recurrent_cell = CELLS[cell](self.units, dtype=dtype, name="recurrent_cell")
        self.first_states = [
            keras.layers.Dense(self.units, "tanh", dtype=dtype, name=f"first_state_{i}")
            for i, _ in enumerate(keras.tree.flatten(self.recurrent_cell.state_size))
        ]

    def _build_sublayers(self, x_shape, encoder_output_shape, cell_input_size):
        check_vectors(x_shape, self.d_model)
        build_part(self.recurrent_cell, (x_shape[0], cell_input_size))
        for first_state in self.first_states:
            build_part(first_state, (x_shape[0], encoder_output_shape[-1]))
        build_part(self.attention, (x_shape[0], None, self.units), encoder_output_shape)

    def call(
        self,
        x: Tensor,
        encoder_output: Tensor,
        attention_mask: Tensor | None = None,
        encoder_output_mask: Tensor | None = None,
    ) -> Tensor:
        """Decodes all positions, one after the other.

        Args:
            x: target embeddings, (B, T, D).
            encoder_output: (B, S, E).
            attention_mask: boolean, broadcastable to (B, 1, S); True = may attend.
            encoder_output_mask: implicit mask of `encoder_output`, (B, S), which Keras passes.

        Returns:
            Hidden states, (B, T, D).
        """
        attention_mask = with_implicit_mask(attention_mask, encoder_output_mask)
        state, memory = self.start(encoder_output)
        # On TensorFlow, `ops.scan` can return only tensors shaped like its carry, so the recorded
        # weights are kept in the state.
        recording, stored = is_recording(), []
        if recording:
            no_weights = ops.zeros(ops.shape(encoder_output)[:2], "float32")
            state = {**state, "weights": no_weights}

        def scan_step(carry, x):
            position, state = carry
            with record_attention() as weights:
                state = self._next_state(x, position, state, memory, attention_mask)
            if recording:
                found = take_call(weights.calls, self.attention)
                stored.append(found is not None)  # an own attention may store nothing
                state["weights"] = no_weights if found is None else ops.squeeze(found, axis=1)
            return (position + 1, state), (position, state)

        first = (ops.convert_to_tensor(0, dtype="int32"), state)
        _, (_, states) = ops.scan(scan_step, first, ops.swapaxes(x, 0, 1))
        states = keras.tree.map_structure(lambda y: ops.swapaxes(y, 0, 1), states)
        if any(stored):
            store_attention(self.attention, states["weights"])
        return self._output(x, states)

    def start(self, encoder_output: Tensor) -> tuple[dict[str, Any], tuple[Tensor, Tensor]]:
        """Prepares decoding step by step.

        Args:
            encoder_output: (B, S, E).

        Returns:
            The initial cache, and the memory: the keys of the attention and `encoder_output`.
        """
        encoder_output = ops.cast(encoder_output, self.compute_dtype)
        first = encoder_output[:, 0]
        cache = {"cell": [first_state(first) for first_state in self.first_states]}
        return cache, (self.attention.project(encoder_output), encoder_output)

    def step(
        self,
        x: Tensor,
        position: Tensor | int,
        cache: dict[str, Any],
        memory: tuple[Tensor, Tensor],
        attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, Any]]:
        """Decodes one position, with the same result as `call`.

        Args:
            x: target embeddings of this position, (B, 1, D).
            position: int32 scalar, starting at 0.
            cache: from `start` or the previous step.
            memory: from `start`.
            attention_mask: see `call`.

        Returns:
            Hidden states, (B, 1, D), and the next cache.
        """
        x = ops.squeeze(x, axis=1)
        cache = self._next_state(x, position, cache, memory, attention_mask)
        return ops.expand_dims(self._output(x, cache), 1), cache

    def _next_state(self, x, position, state, memory, attention_mask):
        """Returns the state after reading x, (B, D)."""
        raise NotImplementedError

    def _output(self, x, states):
        """Returns the output, (..., D), given each x, (..., D), and the state after it."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        sizes = {"units": self.units, "d_model": self.d_model, "cell": self.cell}
        return {**super().get_config(), **sizes}

    def compute_output_shape(self, x_shape: Shape, encoder_output_shape: Shape) -> Shape:
        return x_shape
