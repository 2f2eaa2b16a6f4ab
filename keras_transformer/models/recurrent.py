"""The recurrent translation model with attention."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import (
    check_choice,
    check_optional_size,
    check_rate,
    check_sizes,
)
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import Tensor
from keras_transformer.layers._parts import SOME_TOKENS, build_further_layers, build_part
from keras_transformer.layers.bahdanau_decoder import BahdanauDecoder
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.luong_decoder import LuongDecoder
from keras_transformer.layers.record_attention import Recording, take_call
from keras_transformer.masks import padding_mask
from keras_transformer.models._translator import Translator
from keras_transformer.settings import names_ours

_RNNS = {"gru": keras.layers.GRU, "lstm": keras.layers.LSTM}


@keras.saving.register_keras_serializable(package="keras_transformer")
class RecurrentTranslator(Translator):
    """A recurrent encoder and a recurrent decoder with attention.

    It has the interface of `TransformerModel`: called on `(encoder_input, decoder_input)`, two
    arrays of token ids padded with 0, it returns the logits of the next target token at every
    position.

    Shape letters: B batch, T target length, S source length, D model size, V target vocabulary, R
    rows.

    Args:
        enc_vocab_size: size of the source vocabulary.
        dec_vocab_size: size of the target vocabulary, V.
        d_model: size of the embeddings and of the decoder output, D.
        units: size of the recurrent states. Each direction of a bidirectional encoder has
            `units / 2`.
        rate: dropout rate of the embeddings and of the decoder output.
        attention: "bahdanau" (`BahdanauDecoder`) or "luong" (`LuongDecoder`).
        cell: "gru" or "lstm".
        score, window, alignment: options of `LuongAttention`, for `attention="luong"` only.
        bidirectional: whether the encoder reads the source in both directions, as in Bahdanau's
            paper, or from left to right only, as in Luong's.

    Raises:
        ValueError: if a size is not a positive integer, `units` is odd for a bidirectional
            encoder, `rate` is not in [0, 1), an option is unknown, or an option of Luong's
            attention is given for Bahdanau's.

    References:
        "Neural Machine Translation by Jointly Learning to Align and Translate" (Bahdanau et al.,
        2015); "Effective Approaches to Attention-based Neural Machine Translation" (Luong et al.,
        2015).

    Example:
        >>> model = kt.RecurrentTranslator(100, 120, d_model=16, units=32, rate=0.1)
        >>> source, target = np.array([[5, 7, 9, 3, 0]]), np.array([[2, 8, 6]])
        >>> ops.shape(model((source, target)))  # (B, T, V)
        (1, 3, 120)
        >>> ops.shape(model.attention_weights(source, target)["cross"][0])  # (B, 1, T, S)
        (1, 1, 3, 5)
    """

    @names_ours
    def __init__(
        self,
        enc_vocab_size: int,
        dec_vocab_size: int,
        d_model: int,
        units: int,
        rate: float,
        attention: str = "bahdanau",
        cell: str = "gru",
        score: str = "general",
        window: int | None = None,
        alignment: str = "monotonic",
        bidirectional: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        enc_vocab_size, dec_vocab_size = check_sizes(
            enc_vocab_size=enc_vocab_size, dec_vocab_size=dec_vocab_size
        )
        d_model, units = check_sizes(d_model=d_model, units=units)
        window = check_optional_size(window=window)
        check_rate(rate=rate)
        check_choice(("bahdanau", "luong"), attention=attention)
        check_choice(tuple(_RNNS), cell=cell)
        luong_options = (score, window, alignment)
        if attention == "bahdanau" and luong_options != ("general", None, "monotonic"):
            raise ValueError(
                "`score`, `window` and `alignment` are options of Luong's attention: omit them, or "
                'set `attention="luong"`. '
                f"Received: score={score!r}, window={window!r}, alignment={alignment!r}"
            )
        if bidirectional and units % 2:
            raise ValueError(
                "`units` must be even: each direction of the encoder has half of them. "
                f"Received: units={excerpt(units)}"
            )
        self.enc_vocab_size = enc_vocab_size
        self.dec_vocab_size = dec_vocab_size
        self.d_model = d_model
        self.units = units
        self.rate = rate
        self.attention = attention
        self.cell = cell
        self.score = score
        self.window = window
        self.alignment = alignment
        self.bidirectional = bidirectional

        dtype = self.dtype_policy
        self.source_embedding = self._embedding(enc_vocab_size, "source_embedding")
        self.target_embedding = self._embedding(dec_vocab_size, "target_embedding")
        self.encoder = self._encoder()
        sizes = (units, d_model, cell)
        if attention == "luong":
            self.decoder = LuongDecoder(*sizes, *luong_options, dtype=dtype, name="decoder")
        else:
            self.decoder = BahdanauDecoder(*sizes, dtype=dtype, name="decoder")
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")
        self.projection = keras.layers.Dense(dec_vocab_size, dtype=dtype, name="projection")

    def _embedding(self, vocab_size, name):
        return keras.layers.Embedding(vocab_size, self.d_model, dtype=self.dtype_policy, name=name)

    def _encoder(self) -> keras.layers.Layer:
        options = {"return_sequences": True, "dtype": self.dtype_policy}
        if not self.bidirectional:
            return _RNNS[self.cell](self.units, name="encoder", **options)
        forward = _RNNS[self.cell](self.units // 2, name=self.cell, **options)
        return keras.layers.Bidirectional(forward, dtype=self.dtype_policy, name="encoder")

    def build(self, input_shape: Any) -> None:
        batch, source_length, target_length = self._input_lengths(input_shape)
        build_part(self.source_embedding, (batch, source_length), dtype="int32")
        build_part(self.target_embedding, (batch, target_length), dtype="int32")
        build_part(self.encoder, (batch, source_length, self.d_model))
        target_shape = (batch, target_length, self.d_model)
        build_part(self.decoder, target_shape, (batch, source_length, self.units))
        build_part(self.dropout, target_shape)
        build_part(self.projection, target_shape)
        self.built = True
        build_further_layers(self, (SOME_TOKENS, SOME_TOKENS))

    def encode(self, encoder_input: Tensor, training: bool | None = None) -> Tensor:
        """Encodes ids, (B, S), to hidden states, (B, S, units); see `TransformerModel.encode`."""
        x = self.dropout(self.source_embedding(encoder_input), training=training)
        mask = ops.squeeze(padding_mask(encoder_input), axis=1)
        return self.encoder(x, mask=mask, training=training)

    def decode(
        self,
        decoder_input: Tensor,
        encoder_output: Tensor,
        encoder_input: Tensor,
        training: bool | None = None,
    ) -> Tensor:
        """Computes logits, (B, T, V), from target ids, (B, T); see `TransformerModel.decode`."""
        x = self.dropout(self.target_embedding(decoder_input), training=training)
        x = self.decoder(x, encoder_output, attention_mask=padding_mask(encoder_input))
        return self.projection(self.dropout(x, training=training))

    def start(self, encoder_input: Tensor, length: int, copies: int = 1) -> tuple[Any, Any]:
        """Encodes ids, (B, S), and returns `(cache, memory)`; see `TransformerModel.start`.

        The cache is the recurrent state of R = B · copies rows, whatever the `length`.
        """
        encoder_output = self.encode(encoder_input, training=False)
        cache, memory = self.decoder.start(encoder_output)
        cache_and_memory = cache, {"decoder": memory, "mask": padding_mask(encoder_input)}
        return keras.tree.map_structure(lambda x: ops.repeat(x, copies, axis=0), cache_and_memory)

    def step(
        self, tokens: Tensor, position: Tensor | int, cache: Any, memory: Any
    ) -> tuple[Tensor, Any]:
        """Computes logits, (R, V), and the cache from ids, (R,); see `TransformerModel.step`."""
        x = self.target_embedding(ops.expand_dims(tokens, 1))
        x, cache = self.decoder.step(x, position, cache, memory["decoder"], memory["mask"])
        return self.projection(ops.squeeze(x, axis=1)), cache

    def group_attention(self, weights: Recording) -> dict[str, list[Tensor]]:
        """Returns `{"cross": [weights]}`, (B, 1, T, S); see `TransformerModel.group_attention`."""
        found = take_call(list(weights.calls), self.decoder)
        return {} if found is None else {"cross": [ops.expand_dims(found, axis=1)]}

    def get_config(self) -> dict[str, Any]:
        arguments = {
            "enc_vocab_size": self.enc_vocab_size,
            "dec_vocab_size": self.dec_vocab_size,
            "d_model": self.d_model,
            "units": self.units,
            "rate": self.rate,
            "attention": self.attention,
            "cell": self.cell,
            "score": self.score,
            "window": self.window,
            "alignment": self.alignment,
            "bidirectional": self.bidirectional,
        }
        return {**super().get_config(), **arguments}
