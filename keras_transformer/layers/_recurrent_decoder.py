"""What the recurrent decoders have in common."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_choice, check_sizes, check_vectors
from keras_transformer.layers.record_attention import (
    is_recording,
    note_attention,
    record_attention,
)

CELLS = {"gru": keras.layers.GRUCell, "lstm": keras.layers.LSTMCell}


class RecurrentDecoder(keras.layers.Layer):
    """Reads a sequence of vectors one by one, and attends to the encoded source at each.

    The cache is the state: a dictionary of "cell", the states of the recurrent cell, and what a
    subclass adds. The first state of the cell is made of the first vector of the encoded source:
    an encoder of two directions has read all of the source there.
    """

    def __init__(self, units, d_model, cell="gru", **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units, d_model=d_model)
        check_choice(tuple(CELLS), cell=cell)
        self.units = units
        self.d_model = d_model
        self.cell = cell
        dtype = self.dtype_policy
        self.recurrent_cell = CELLS[cell](units, dtype=dtype, name="recurrent_cell")
        self.first_states = [
            keras.layers.Dense(units, "tanh", dtype=dtype, name=f"first_state_{i}")
            for i, _ in enumerate(keras.tree.flatten(self.recurrent_cell.state_size))
        ]

    def _build_parts(self, x_shape, encoder_output_shape, cell_input_size):
        check_vectors(x_shape, self.d_model)
        self.recurrent_cell.build((x_shape[0], cell_input_size))
        for first_state in self.first_states:
            first_state.build((x_shape[0], encoder_output_shape[-1]))
        self.attention.build((x_shape[0], None, self.units), encoder_output_shape)

    def call(self, x, encoder_output, attention_mask=None):
        """Decodes, one position after the other.

        Args:
            x: (B, T, D).
            encoder_output: (B, S, E).
            attention_mask: boolean, broadcastable to (B, 1, S); True = may attend.

        Returns:
            (B, T, D).
        """
        state, memory = self.start(encoder_output)
        # On TensorFlow a scan puts out only shapes of its carry: what is recorded joins the state.
        recording = is_recording()
        if recording:
            state = {**state, "weights": ops.zeros(ops.shape(encoder_output)[:2], "float32")}

        def go_on(carry, x):
            position, state = carry
            with record_attention() as weights:
                state = self._next(x, position, state, memory, attention_mask)
            if recording:
                state["weights"] = ops.squeeze(weights[self.attention], axis=1)
            return (position + 1, state), (position, state)

        first = (ops.convert_to_tensor(0, dtype="int32"), state)
        _, (_, states) = ops.scan(go_on, first, ops.swapaxes(x, 0, 1))
        states = keras.tree.map_structure(lambda y: ops.swapaxes(y, 0, 1), states)
        if recording:
            note_attention(self.attention, states["weights"])
        return self._read(x, states)

    def start(self, encoder_output):
        """What decoding begins with.

        Args:
            encoder_output: (B, S, E).

        Returns:
            The cache, and the memory: the keys of the attention, and what was encoded.
        """
        first = encoder_output[:, 0]
        cache = {"cell": [first_state(first) for first_state in self.first_states]}
        return cache, (self.attention.project(encoder_output), encoder_output)

    def step(self, x, position, cache, memory, attention_mask=None):
        """Decodes one position, as `call` does.

        Args:
            x: the vectors at this position, (B, 1, D).
            position: int32 scalar, 0 at first.
            cache, memory: what `start` returned, and the cache of the step before.
            attention_mask: see `call`.

        Returns:
            (B, 1, D), and the next cache.
        """
        x = ops.squeeze(x, axis=1)
        cache = self._next(x, position, cache, memory, attention_mask)
        return ops.expand_dims(self._read(x, cache), 1), cache

    def _next(self, x, position, state, memory, attention_mask):
        """The state after reading x, (B, D)."""
        raise NotImplementedError

    def _read(self, x, states):
        """The output, (..., D), of each x (..., D) and the state after it."""
        raise NotImplementedError

    def get_config(self):
        sizes = {"units": self.units, "d_model": self.d_model, "cell": self.cell}
        return {**super().get_config(), **sizes}

    def compute_output_shape(self, x_shape, encoder_output_shape):
        return x_shape
