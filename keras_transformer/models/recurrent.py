"""The recurrent translator, which came before the transformer."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_choice, check_rate, check_sizes
from keras_transformer.layers.bahdanau_decoder import BahdanauDecoder
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.luong_decoder import LuongDecoder
from keras_transformer.masks import padding_mask
from keras_transformer.models._translator import Translator

_RNNS = {"gru": keras.layers.GRU, "lstm": keras.layers.LSTM}


@keras.saving.register_keras_serializable(package="keras_transformer")
class RecurrentTranslator(Translator):
    """A recurrent encoder of two directions, and a recurrent decoder that attends to it.

    It is called as `TransformerModel` is, on `(encoder_input, decoder_input)`, two arrays of token
    ids in which 0 is padding, and returns the logits of each next target word; it is trained and
    searched as that is, too.

    Shape letters: B batch, T target length, S source length, D model size, V target vocabulary.

    Args:
        enc_vocab_size: number of source words.
        dec_vocab_size: number of target words, V.
        d_model: size of the words' vectors and of what the logits are made of, D.
        units: size of the recurrent states, even: each direction of the encoder has half of it, so
            that its states are as large as the decoder's.
        rate: dropout rate of the words' vectors and of what the logits are made of.
        attention: "bahdanau" (`BahdanauDecoder`) or "luong" (`LuongDecoder`).
        cell: "gru" or "lstm".
        score, window, alignment: of Luong's attention only, see `LuongAttention`.

    Raises:
        ValueError: if a size is not a positive integer, `units` is odd, `rate` is not in [0, 1), or
            there is no such choice.

    References:
        "Neural Machine Translation by Jointly Learning to Align and Translate" (Bahdanau et al.,
        2015); "Effective Approaches to Attention-based Neural Machine Translation" (Luong et al.,
        2015).
    """

    def __init__(
        self,
        enc_vocab_size,
        dec_vocab_size,
        d_model,
        units,
        rate,
        attention="bahdanau",
        cell="gru",
        score="general",
        window=None,
        alignment="monotonic",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(enc_vocab_size=enc_vocab_size, dec_vocab_size=dec_vocab_size)
        check_sizes(d_model=d_model, units=units)
        check_rate(rate=rate)
        check_choice(("bahdanau", "luong"), attention=attention)
        check_choice(tuple(_RNNS), cell=cell)
        choices = (score, window, alignment)
        if attention == "bahdanau" and choices != ("general", None, "monotonic"):
            raise ValueError(
                "Leave out what is of Luong's attention only, or choose it. "
                f"Received: score={score!r}, window={window!r}, alignment={alignment!r}"
            )
        if units % 2:
            raise ValueError(
                "`units` must be even: half of them go in each direction. "
                f"Received: units={units!r}"
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

        dtype = self.dtype_policy
        self.source_embedding = self._embedding(enc_vocab_size, "source_embedding")
        self.target_embedding = self._embedding(dec_vocab_size, "target_embedding")
        one_way = _RNNS[cell](units // 2, return_sequences=True, dtype=dtype, name=cell)
        self.encoder = keras.layers.Bidirectional(one_way, dtype=dtype, name="encoder")
        sizes = (units, d_model, cell)
        if attention == "luong":
            self.decoder = LuongDecoder(*sizes, *choices, dtype=dtype, name="decoder")
        else:
            self.decoder = BahdanauDecoder(*sizes, dtype=dtype, name="decoder")
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")
        self.projection = keras.layers.Dense(dec_vocab_size, dtype=dtype, name="projection")

    def _embedding(self, words, name):
        return keras.layers.Embedding(words, self.d_model, dtype=self.dtype_policy, name=name)

    def build(self, input_shape):
        (batch, source_length), (_, target_length) = input_shape
        self.source_embedding.build((batch, source_length))
        self.target_embedding.build((batch, target_length))
        self.encoder.build((batch, source_length, self.d_model))
        target_shape = (batch, target_length, self.d_model)
        self.decoder.build(target_shape, (batch, source_length, self.units))
        self.dropout.build(target_shape)
        self.projection.build(target_shape)
        self.built = True

    def encode(self, encoder_input, training=None):
        """Encodes the source: (B, S) ids -> (B, S, units)."""
        x = self.dropout(self.source_embedding(encoder_input), training=training)
        mask = ops.squeeze(padding_mask(encoder_input), axis=1)
        return self.encoder(x, mask=mask, training=training)

    def decode(self, decoder_input, encoder_output, encoder_input, training=None):
        """Predicts each next word of the target from the encoded source.

        Args:
            decoder_input: integer token ids, (B, T).
            encoder_output: what `encode` returned, (B, S, units).
            encoder_input: the source's ids, (B, S), which say where its padding is.
            training: whether dropout is active.

        Returns:
            Logits, (B, T, V).
        """
        x = self.dropout(self.target_embedding(decoder_input), training=training)
        x = self.decoder(x, encoder_output, attention_mask=padding_mask(encoder_input))
        return self.projection(self.dropout(x, training=training))

    def start(self, encoder_input, length, copies=1):
        """Encodes the source and makes room for decoding it step by step.

        Args:
            encoder_input: integer token ids, (B, S).
            length: number of steps; the state has the same size for any.
            copies: rows for each sentence, next to each other: B becomes B * copies from here on.

        Returns:
            The cache, which is the first state, and the memory: what stays the same from step to
            step. Both are nested structures of tensors; each row belongs to a row of the batch.
        """
        encoder_output = self.encode(encoder_input, training=False)
        cache, memory = self.decoder.start(encoder_output)
        cache_and_memory = cache, {"decoder": memory, "mask": padding_mask(encoder_input)}
        return keras.tree.map_structure(lambda x: ops.repeat(x, copies, axis=0), cache_and_memory)

    def step(self, tokens, position, cache, memory):
        """Predicts the next word of the target from one token and the state after those before.

        The logits are those of `decode` at this position.

        Args:
            tokens: the tokens at this position, int32 (B,); at position 0 the start token.
            position: int32 scalar.
            cache: what the step before returned, or `start`.
            memory: what `start` returned.

        Returns:
            Logits, (B, V), and the next cache.
        """
        x = self.target_embedding(ops.expand_dims(tokens, 1))
        x, cache = self.decoder.step(x, position, cache, memory["decoder"], memory["mask"])
        return self.projection(ops.squeeze(x, axis=1)), cache

    def group_attention(self, weights):
        """Sorts what `record_attention` has collected.

        Args:
            weights: dictionary from a layer to its weights.

        Returns:
            See `attention_scores`; an empty dictionary if nothing was collected.
        """
        attention = self.decoder.attention
        if attention not in weights:
            return {}
        return {"cross": [ops.expand_dims(weights[attention], axis=1)]}

    def get_config(self):
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
        }
        return {**super().get_config(), **arguments}
