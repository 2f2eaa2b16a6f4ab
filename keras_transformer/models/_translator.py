"""The base class of the translation models."""

from pathlib import Path
from typing import Any

from keras_transformer._utils.arguments import training_by_name
from keras_transformer._utils.checks import check_axes
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import PartsMixin
from keras_transformer.layers.record_attention import record_attention
from keras_transformer.models._token_model import TokenModel


def _function_instead(name, call):
    """Returns a method of courses that is a function here, which it names."""

    # Not a property: PyTorch would replace its AttributeError by one that says less.
    def missing(self: Any, *arguments: Any, **keywords: Any) -> None:
        raise AttributeError(
            f"{type(self).__name__} has no method `{name}`: write {call}; True = may attend"
        )

    return missing


class Translator(PartsMixin, TokenModel):
    """Base class of encoder-decoder models.

    A subclass implements `encode` and `decode`, `start` and `step` for decoding step by step, and
    `group_attention`.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        """Applies the model to `(encoder_input, decoder_input)`; see `call`.

        The two inputs may also be separate arguments: `model(encoder_input, decoder_input)`.
        """
        args, kwargs = training_by_name(args, kwargs)
        if len(args) == 2 and args[1] is not None:
            args = (args,)
        if args and not (isinstance(args[0], (tuple, list)) and len(args[0]) == 2):
            raise TypeError(
                f"{type(self).__name__} must be called on two arrays of token ids: write "
                "model((encoder_input, decoder_input), training=...). "
                f"Received: {', '.join(type(x).__name__ for x in args)}"
            )
        return super().__call__(*args, **kwargs)

    def call(self, inputs: tuple[Tensor, Tensor], training: bool | None = None) -> Tensor:
        """Computes the logits of the next target token at every position.

        Args:
            inputs: `(encoder_input, decoder_input)`, integer token ids, (B, S) and (B, T), padded
                with 0. The decoder input begins with the start token.
            training: whether dropout is active.

        Returns:
            Logits, (B, T, V). Those at position t score the token after `decoder_input[:, t]`.
        """
        encoder_input, decoder_input = inputs
        check_axes(2, "(B, T)", encoder_input=encoder_input, decoder_input=decoder_input)
        rows = {x.shape[0] for x in inputs} - {None}
        if len(rows) > 1:
            raise ValueError(
                "Source and target must have the same number of sentences. Received: "
                f"{encoder_input.shape[0]} and {decoder_input.shape[0]}"
            )
        encoder_output = self.encode(encoder_input, training=training)
        return self.decode(decoder_input, encoder_output, encoder_input, training=training)

    def _input_lengths(self, input_shape):
        """Returns the batch size and the lengths of source and target, for `build`."""
        try:
            (batch, source_length), (_, target_length) = input_shape
        except (TypeError, ValueError):
            raise ValueError(
                "A translator has two inputs, token ids (B, S) and (B, T): write "
                "model.build(((None, None), (None, None))), or model((source, target)). "
                f"Received: {excerpt(input_shape)}"
            ) from None
        return batch, source_length, target_length

    def attention_weights(
        self, encoder_input: Tensor, decoder_input: Tensor
    ) -> dict[str, list[Tensor]]:
        """Computes the attention weights of every layer and head.

        Args:
            encoder_input: integer token ids, (B, S).
            decoder_input: integer token ids, (B, T).

        Returns:
            A dictionary of lists with one tensor per layer: "cross" (B, N, T, S), and for a
            `TransformerModel` also "encoder" (B, N, S, S) and "causal" (B, N, T, T). Rows sum to 1.
        """
        with record_attention() as weights:
            self((encoder_input, decoder_input))
        return self.group_attention(weights)

    def _input_signature(self, ids):
        return [(ids, ids)]

    def save_weights(self, filepath: Any, *args: Any, **kwargs: Any) -> None:
        """Saves the weights, see `keras.Model.save_weights`, and creates the folder if needed."""
        Path(filepath).parent.mkdir(parents=True, exist_ok=True)
        super().save_weights(filepath, *args, **kwargs)

    padding_mask = _function_instead("padding_mask", "kt.padding_mask(ids)")
    lookahead_mask = _function_instead("lookahead_mask", "kt.causal_mask(length)")

    def compute_output_shape(self, input_shape: Any) -> Shape:
        return (*input_shape[1], self.dec_vocab_size)
