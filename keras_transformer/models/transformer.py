"""The Transformer for translation."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import (
    check_even,
    check_length,
    check_optional_size,
    check_sizes,
)
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer._utils.types import Tensor
from keras_transformer.layers._parts import SOME_TOKENS, build_further_layers, build_part
from keras_transformer.layers._settings_mixin import SettingsMixin
from keras_transformer.layers.decoder import Decoder
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.position_embedding import PositionEmbeddingFixedWeights
from keras_transformer.layers.record_attention import Recording, take_call
from keras_transformer.masks import causal_mask, combine_masks, padding_mask
from keras_transformer.models._translator import Translator
from keras_transformer.settings import BlockSettings, names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerModel(SettingsMixin, Translator):
    """The encoder-decoder Transformer.

    It is called on `(encoder_input, decoder_input)`, two arrays of token ids padded with 0, and
    returns the logits of the next target token at every position: `decode(encode(...))`, see
    `Translator.call`.

    Shape letters: B batch, T target length, S source length, L cache length, N heads, D model size,
    V target vocabulary, R rows.

    Args:
        enc_vocab_size: size of the source vocabulary.
        dec_vocab_size: size of the target vocabulary, V.
        enc_seq_length: maximum source length S; None for no limit. No weight depends on it, because
            positions are computed on demand.
        dec_seq_length: maximum target length T of `call` and `decode`; None for no limit.
        h: number of attention heads, N.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the hidden states, D, even.
        d_ff_inner: size of the inner layer of the feed-forward networks.
        n: number of encoder layers, and of decoder layers.
        rate: dropout rate of the embeddings and of each sub-layer's output.
        settings: `BlockSettings`, which has further options; replaces `h` … `rate`.
        tie_output: whether the output projection uses the target embeddings as its weights.
        share_embeddings: whether source and target share one vocabulary and its embeddings.
        output_bias: whether a tied output has a bias. An untied output has
            one unless `settings.use_bias` is False.

    Raises:
        TypeError: if neither `settings` nor all of `h` … `rate` are given.
        ValueError: if both are given, a size is not a positive integer, `d_model` is odd, a rate is
            not in [0, 1), a sequence exceeds its maximum length, `share_embeddings` is set for
            vocabularies of different sizes, or `output_bias` without `tie_output`.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), figure 1 and section 3.4.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=1)
        >>> model = kt.TransformerModel(100, 120, settings=settings)
        >>> source, target = np.array([[5, 7, 9, 3, 0]]), np.array([[2, 8, 6]])
        >>> ops.shape(model((source, target)))  # (B, T, V)
        (1, 3, 120)
        >>> ops.shape(model.attention_weights(source, target)["cross"][0])  # (B, N, T, S)
        (1, 2, 3, 5)

        The same logits step by step, with a KV cache:

        >>> cache, memory = model.start(source, length=3)
        >>> logits, cache = model.step(np.array([2]), 0, cache, memory)
        >>> ops.shape(logits)
        (1, 120)
    """

    @names_ours
    def __init__(
        self,
        enc_vocab_size: int,
        dec_vocab_size: int,
        enc_seq_length: int | None = None,
        dec_seq_length: int | None = None,
        h: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        d_model: int | None = None,
        d_ff_inner: int | None = None,
        n: int | None = None,
        rate: float | None = None,
        *,
        settings: BlockSettings | None = None,
        tie_output: bool = False,
        share_embeddings: bool = False,
        output_bias: bool = False,
        **kwargs: Any,
    ) -> None:
        sizes = {"h": h, "d_k": d_k, "d_v": d_v, "d_model": d_model, "d_ff_inner": d_ff_inner}
        super().__init__(settings, {**sizes, "n": n, "rate": rate}, **kwargs)
        self.enc_vocab_size, self.dec_vocab_size = check_sizes(
            enc_vocab_size=enc_vocab_size, dec_vocab_size=dec_vocab_size
        )
        self.enc_seq_length = check_optional_size(enc_seq_length=enc_seq_length)
        self.dec_seq_length = check_optional_size(dec_seq_length=dec_seq_length)
        check_even(d_model=self.settings.d_model)
        if share_embeddings and enc_vocab_size != dec_vocab_size:
            raise ValueError(
                "`share_embeddings` needs one vocabulary for both languages. "
                f"Received: enc_vocab_size={enc_vocab_size}, dec_vocab_size={dec_vocab_size}"
            )
        if output_bias and not tie_output:
            raise ValueError(
                "An untied output always has a bias: omit `output_bias`, or set `tie_output=True`. "
                f"Received: output_bias={output_bias}, tie_output={tie_output}"
            )
        self.tie_output = tie_output
        self.share_embeddings = share_embeddings
        self.output_bias = output_bias

        settings, dtype = self.settings, self.dtype_policy
        self.source_embedding = self._embedding(enc_vocab_size, "source_embedding")
        self.target_embedding = (
            self.source_embedding
            if share_embeddings
            else self._embedding(dec_vocab_size, "target_embedding")
        )
        self.encoder = Encoder(settings=settings, dtype=dtype, name="encoder")
        self.decoder = Decoder(settings=settings, dtype=dtype, name="decoder")
        self.projection = (
            None
            if tie_output
            else keras.layers.Dense(
                self.dec_vocab_size, use_bias=settings.use_bias, dtype=dtype, name="projection"
            )
        )

    def _embedding(self, vocab_size, name):
        return PositionEmbeddingFixedWeights.from_settings(
            self.settings, None, vocab_size, dtype=self.dtype_policy, name=name
        )

    def build(self, input_shape: Any) -> None:
        batch, source_length, target_length = self._input_lengths(input_shape)
        source_shape = (batch, source_length, self.settings.d_model)
        target_shape = (batch, target_length, self.settings.d_model)
        build_part(self.source_embedding, (batch, source_length), dtype="int32")
        build_part(self.target_embedding, (batch, target_length), dtype="int32")
        build_part(self.encoder, source_shape)
        build_part(self.decoder, target_shape, source_shape)
        if self.projection is not None:
            build_part(self.projection, target_shape)
        elif not hasattr(self.target_embedding, "to_logits"):
            raise ValueError(
                "A tied output needs a target embedding with the methods `to_logits` and `vectors` "
                "of PositionEmbeddingFixedWeights: add them, or set `tie_output=False`. "
                f"Received: {type(self.target_embedding).__name__}"
            )
        if self.output_bias:
            self.bias = self.add_weight((self.dec_vocab_size,), "zeros", name="output_bias")
        self.built = True
        build_further_layers(self, (SOME_TOKENS, SOME_TOKENS))

    def encode(self, encoder_input: Tensor, training: bool | None = None) -> Tensor:
        """Encodes the source.

        Args:
            encoder_input: integer token ids, (B, S), padded with 0.
            training: whether dropout is active.

        Returns:
            Hidden states, (B, S, D).
        """
        check_length(encoder_input.shape[1], enc_seq_length=self.enc_seq_length)
        x = self.source_embedding(encoder_input)
        return self.encoder(x, attention_mask=padding_mask(encoder_input), training=training)

    def decode(
        self,
        decoder_input: Tensor,
        encoder_output: Tensor,
        encoder_input: Tensor,
        training: bool | None = None,
    ) -> Tensor:
        """Computes the logits of the next target token at every position, from the encoded source.

        Args:
            decoder_input: integer token ids, (B, T), beginning with the start token.
            encoder_output: output of `encode`, (B, S, D).
            encoder_input: source token ids, (B, S), for the padding mask.
            training: whether dropout is active.

        Returns:
            Logits, (B, T, V).
        """
        check_length(decoder_input.shape[1], dec_seq_length=self.dec_seq_length)
        causal = causal_mask(ops.shape(decoder_input)[1])
        x = self.decoder(
            self.target_embedding(decoder_input),
            encoder_output,
            self_attention_mask=combine_masks(padding_mask(decoder_input), causal),
            cross_attention_mask=padding_mask(encoder_input),
            training=training,
        )
        return self._to_logits(x)

    def _to_logits(self, x, embeddings=None):
        if self.projection is not None:
            return self.projection(x)
        logits = self.target_embedding.to_logits(x, embeddings)
        return logits + ops.cast(self.bias, logits.dtype) if self.output_bias else logits

    def start(self, encoder_input: Tensor, length: int, copies: int = 1) -> tuple[Any, Any]:
        """Encodes the source and allocates the cache for decoding step by step.

        Args:
            encoder_input: integer token ids, (B, S).
            length: maximum number of steps, L.
            copies: number of rows per sentence, such as the beam size. R = B · copies; the rows of
                a sentence are adjacent.

        Returns:
            `(cache, memory)`, two nested structures of tensors: the empty KV cache, whose tensors
            have R rows, and what stays constant from step to step.
        """
        encoder_output = self.encode(encoder_input, training=False)
        layers, memory = self.decoder.start(encoder_output, length)
        rows = {"layers": memory, "mask": padding_mask(encoder_input)}
        cache = {"layers": layers, "seen": ops.zeros((ops.shape(encoder_input)[0], length), "bool")}
        if copies > 1:
            rows, cache = keras.tree.map_structure(
                lambda x: ops.repeat(x, copies, axis=0), (rows, cache)
            )
        tied = self.projection is None
        embeddings = self.target_embedding.vectors(self.compute_dtype) if tied else ()
        return cache, {**rows, "embeddings": embeddings}

    def step(
        self, tokens: Tensor, position: Tensor | int, cache: Any, memory: Any
    ) -> tuple[Tensor, Any]:
        """Computes the logits of the next target token from one token and the KV cache.

        The logits equal those of `decode` at this position.

        Args:
            tokens: token ids at this position, int32, (R,); at position 0 the start token.
            position: int32 scalar.
            cache: the cache returned by the previous step, or by `start` at position 0.
            memory: the memory returned by `start`.

        Returns:
            `(logits, cache)`: logits, (R, V), and the updated cache.
        """
        tokens = ops.expand_dims(tokens, 1)
        seen = ops.slice_update(cache["seen"], (0, position), tokens != PADDING_ID)
        x, layers = self.decoder.step(
            self.target_embedding(tokens, start=position),
            position,
            cache["layers"],
            memory["layers"],
            self_attention_mask=ops.expand_dims(seen, 1),
            cross_attention_mask=memory["mask"],
        )
        logits = self._to_logits(ops.squeeze(x, axis=1), memory["embeddings"])
        return logits, {"layers": layers, "seen": seen}

    def group_attention(self, weights: Recording) -> dict[str, list[Tensor]]:
        """Groups the output of `record_attention` by kind of attention and layer.

        Args:
            weights: what `record_attention` recorded in a call of the model.

        Returns:
            A dictionary of lists with one entry per layer, under the keys "encoder", "causal" and
            "cross". A kind whose layers were not recorded is omitted.
        """
        names = (("self_attention", "causal"), ("cross_attention", "cross"))
        encoder, decoder = (getattr(x, "layers", ()) for x in (self.encoder, self.decoder))
        parts = [("encoder", layer, "self_attention") for layer in encoder]
        parts += [(kind, layer, name) for layer in decoder for name, kind in names]
        calls = list(weights.calls)
        grouped: dict[str, list[Any]] = {}
        for kind, layer, name in parts:
            found = take_call(calls, getattr(layer, name, None))
            grouped.setdefault(kind, []).append(found)
        return {
            kind: layers
            for kind, layers in grouped.items()
            if all(layer is not None for layer in layers)
        }

    def get_config(self) -> dict[str, Any]:
        arguments = {
            "enc_vocab_size": self.enc_vocab_size,
            "dec_vocab_size": self.dec_vocab_size,
            "enc_seq_length": self.enc_seq_length,
            "dec_seq_length": self.dec_seq_length,
            "tie_output": self.tie_output,
            "share_embeddings": self.share_embeddings,
            "output_bias": self.output_bias,
        }
        return {**super().get_config(), **arguments}
