"""The recurrent decoder with Bahdanau attention."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import build_part
from keras_transformer.layers._recurrent_decoder import RecurrentDecoder
from keras_transformer.layers.additive_attention import AdditiveAttention
from keras_transformer.settings import names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class BahdanauDecoder(RecurrentDecoder):
    """A recurrent decoder that attends before each step of the cell, as Bahdanau's does.

    The context c is computed from the state s; the next state is s' = cell([x; c], s). The output
    is a maxout layer, the maximum of two projections of [s'; x; c].

    Shape letters: B batch, T target length, S source length, D model size, H = units, E size of the
    encoder output.

    Args:
        units: size of the recurrent states and of the attention's hidden layer, H.
        d_model: size of the input and the output, D.
        cell: "gru" or "lstm".

    Raises:
        ValueError: if a size is not a positive integer or `cell` is unknown.

    References:
        "Neural Machine Translation by Jointly Learning to Align and Translate" (Bahdanau et al.,
        2015), section 3.1 and appendix A.

    Example:
        >>> decoder = kt.BahdanauDecoder(units=16, d_model=8)
        >>> ops.shape(decoder(np.ones((2, 4, 8)), np.ones((2, 5, 6))))
        (2, 4, 8)
    """

    @names_ours
    def __init__(self, units: int, d_model: int, cell: str = "gru", **kwargs: Any) -> None:
        super().__init__(units, d_model, cell, **kwargs)
        dtype = self.dtype_policy
        self.attention = AdditiveAttention(self.units, dtype=dtype, name="attention")
        self.maxout = keras.layers.Dense(2 * self.d_model, dtype=dtype, name="maxout")

    def build(self, x_shape: Shape, encoder_output_shape: Shape) -> None:
        cell_input_size = self.d_model + encoder_output_shape[-1]
        self._build_sublayers(x_shape, encoder_output_shape, cell_input_size)
        build_part(self.maxout, (*x_shape[:-1], self.units + cell_input_size))
        self.built = True

    def start(self, encoder_output: Tensor) -> tuple[dict[str, Any], tuple[Tensor, Tensor]]:
        cache, memory = super().start(encoder_output)
        return {**cache, "context": ops.zeros_like(memory[1][:, 0])}, memory

    def _next_state(self, x, position, state, memory, attention_mask):
        query = state["cell"][0]
        context = self.attention.attend_step(query, memory, attention_mask, position)
        cell_input = ops.concatenate([x, context], axis=-1)
        return {"cell": self.recurrent_cell(cell_input, state["cell"])[1], "context": context}

    def _output(self, x, states):
        features = ops.concatenate([states["cell"][0], x, states["context"]], axis=-1)
        return ops.maximum(*ops.split(self.maxout(features), 2, axis=-1))
