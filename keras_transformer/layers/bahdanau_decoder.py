"""Bahdanau's decoder."""

import keras
from keras import ops

from keras_transformer.layers._recurrent_decoder import RecurrentDecoder
from keras_transformer.layers.additive_attention import AdditiveAttention


@keras.saving.register_keras_serializable(package="keras_transformer")
class BahdanauDecoder(RecurrentDecoder):
    """A recurrent decoder that attends before each step: s' = cell([x; c], s) with c of s.

    The output is a maxout layer, the greater of two projections, of [s'; x; c].

    Shape letters: B batch, T target length, S source length, D model size, H = units, E size of the
    encoded source.

    Args:
        units: size of the recurrent states and of the attention's network.
        d_model: size of the input and the output.
        cell: "gru" or "lstm".

    Raises:
        ValueError: if a size is not a positive integer, or there is no such cell.

    References:
        "Neural Machine Translation by Jointly Learning to Align and Translate" (Bahdanau et al.,
        2015), section 3.1 and appendix A.
    """

    def __init__(self, units, d_model, cell="gru", **kwargs):
        super().__init__(units, d_model, cell, **kwargs)
        dtype = self.dtype_policy
        self.attention = AdditiveAttention(units, dtype=dtype, name="attention")
        self.maxout = keras.layers.Dense(2 * d_model, dtype=dtype, name="maxout")

    def build(self, x_shape, encoder_output_shape):
        read = self.d_model + encoder_output_shape[-1]
        self._build_parts(x_shape, encoder_output_shape, cell_input_size=read)
        self.maxout.build((*x_shape[:-1], self.units + read))
        self.built = True

    def start(self, encoder_output):
        cache, memory = super().start(encoder_output)
        return {**cache, "context": ops.zeros_like(encoder_output[:, 0])}, memory

    def _next(self, x, position, state, memory, attention_mask):
        query = state["cell"][0]
        context = self.attention.attend_once(query, memory, attention_mask, position)
        read = ops.concatenate([x, context], axis=-1)
        return {"cell": self.recurrent_cell(read, state["cell"])[1], "context": context}

    def _read(self, x, states):
        seen = ops.concatenate([states["cell"][0], x, states["context"]], axis=-1)
        return ops.maximum(*ops.split(self.maxout(seen), 2, axis=-1))
