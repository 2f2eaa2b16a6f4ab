"""The recurrent decoder with Luong attention."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_optional_size
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import build_part
from keras_transformer.layers._recurrent_decoder import RecurrentDecoder
from keras_transformer.layers.luong_attention import LuongAttention
from keras_transformer.settings import names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class LuongDecoder(RecurrentDecoder):
    """A recurrent decoder that attends after each step of the cell, as Luong's does.

    The context c is computed from the new state s. The output is the attentional state
    tanh(W[c; s]), which is also concatenated with the input of the next step (input feeding).

    Shape letters: B batch, T target length, S source length, D model size, H = units, E size of the
    encoder output.

    Args:
        units: size of the recurrent states, H.
        d_model: size of the input and the output, D.
        cell: "gru" or "lstm".
        score, window, alignment: see `LuongAttention`; `scale` is True.

    Raises:
        ValueError: if a size is not a positive integer, `cell` is unknown, or `LuongAttention`
            rejects its arguments.

    References:
        "Effective Approaches to Attention-based Neural Machine Translation" (Luong et al., 2015),
        equation 5 and section 3.3.

    Example:
        >>> decoder = kt.LuongDecoder(units=16, d_model=8, window=2)
        >>> ops.shape(decoder(np.ones((2, 4, 8)), np.ones((2, 5, 6))))
        (2, 4, 8)
    """

    @names_ours
    def __init__(
        self,
        units: int,
        d_model: int,
        cell: str = "gru",
        score: str = "general",
        window: int | None = None,
        alignment: str = "monotonic",
        **kwargs: Any,
    ) -> None:
        super().__init__(units, d_model, cell, **kwargs)
        self.score = score
        self.window = check_optional_size(window=window)
        self.alignment = alignment
        dtype = self.dtype_policy
        self.attention = LuongAttention(
            score, window, alignment, scale=True, dtype=dtype, name="attention"
        )
        self.combination = keras.layers.Dense(
            self.d_model, "tanh", use_bias=False, dtype=dtype, name="combination"
        )

    def build(self, x_shape: Shape, encoder_output_shape: Shape) -> None:
        self._build_sublayers(x_shape, encoder_output_shape, cell_input_size=2 * self.d_model)
        build_part(self.combination, (x_shape[0], encoder_output_shape[-1] + self.units))
        self.built = True

    def start(self, encoder_output: Tensor) -> tuple[dict[str, Any], tuple[Tensor, Tensor]]:
        cache, memory = super().start(encoder_output)
        shape = (ops.shape(encoder_output)[0], self.d_model)
        return {**cache, "attentional": ops.zeros(shape, self.compute_dtype)}, memory

    def _next_state(self, x, position, state, memory, attention_mask):
        cell_input = ops.concatenate([x, state["attentional"]], axis=-1)
        output, cell = self.recurrent_cell(cell_input, state["cell"])
        context = self.attention.attend_step(output, memory, attention_mask, position)
        features = ops.concatenate([context, output], axis=-1)
        return {"cell": cell, "attentional": self.combination(features)}

    def _output(self, x, states):
        return states["attentional"]

    def get_config(self) -> dict[str, Any]:
        choices = {"score": self.score, "window": self.window, "alignment": self.alignment}
        return {**super().get_config(), **choices}
