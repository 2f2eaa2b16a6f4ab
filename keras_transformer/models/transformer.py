"""The transformer."""

import keras
from keras import ops

from keras_transformer._utils.checks import (
    check_even,
    check_length,
    check_sizes,
    given,
)
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer.layers._block import WithSettings
from keras_transformer.layers.decoder import Decoder
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.position_embedding import PositionEmbeddingFixedWeights
from keras_transformer.masks import causal_mask, combine_masks, padding_mask
from keras_transformer.models._translator import Translator


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerModel(WithSettings, Translator):
    """Encoder, decoder and a projection to the words of the target language.

    Called on `(encoder_input, decoder_input)`, two arrays of token ids in which 0 is padding, it
    returns the logits of each next target word. `call` is `decode(encode(...))`; inference uses the
    halves.

    Shape letters: B batch, T target length, S source length, L length of the cache, N heads, D
    model size, V target vocabulary.

    Args:
        enc_vocab_size: number of source words.
        dec_vocab_size: number of target words, V.
        enc_seq_length: greatest source length S, as in the course; None for any. Positions are
            computed on demand, so no weight depends on it.
        dec_seq_length: greatest target length T that the model is called on, likewise.
        h: number of heads, N.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the vectors between the layers, D, even.
        d_ff_inner: size of the feed-forward networks' inner layer.
        n: number of encoder layers, and of decoder layers.
        rate: dropout rate of the embeddings and of each sub-layer's output.
        settings: `BlockSettings` with further options, instead of `h` … `rate`.
        tie_output: whether the target words' vectors are also the weights of the last projection.
        share_embeddings: whether source and target share one vocabulary and its vectors.
        output_bias: whether a tied output adds a bias to each word's score. One that is not tied
            has a bias in any case.

    Raises:
        TypeError: if neither `settings` nor all of `h` … `rate` are given.
        ValueError: if both are given, a size is not a positive integer, `d_model` is odd, a rate is
            not in [0, 1), a sequence is longer than it may be, embeddings are to be shared between
            vocabularies of different sizes, or `output_bias` is asked of an output that is not
            tied.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), figure 1 and section 3.4.
    """

    def __init__(
        self,
        enc_vocab_size,
        dec_vocab_size,
        enc_seq_length=None,
        dec_seq_length=None,
        h=None,
        d_k=None,
        d_v=None,
        d_model=None,
        d_ff_inner=None,
        n=None,
        rate=None,
        *,
        settings=None,
        tie_output=False,
        share_embeddings=False,
        output_bias=False,
        **kwargs,
    ):
        course = {"h": h, "d_k": d_k, "d_v": d_v, "d_model": d_model, "d_ff_inner": d_ff_inner}
        super().__init__(settings, {**course, "n": n, "rate": rate}, **kwargs)
        check_sizes(enc_vocab_size=enc_vocab_size, dec_vocab_size=dec_vocab_size)
        lengths = given(enc_seq_length=enc_seq_length, dec_seq_length=dec_seq_length)
        check_sizes(**lengths)
        check_even(d_model=self.settings.d_model)
        if share_embeddings and enc_vocab_size != dec_vocab_size:
            raise ValueError(
                "Shared embeddings need one vocabulary for both languages. "
                f"Received: enc_vocab_size={enc_vocab_size}, dec_vocab_size={dec_vocab_size}"
            )
        if output_bias and not tie_output:
            raise ValueError(
                "An output that is not tied has a bias already: leave out `output_bias`. "
                f"Received: output_bias={output_bias}, tie_output={tie_output}"
            )
        self.enc_vocab_size = enc_vocab_size
        self.dec_vocab_size = dec_vocab_size
        self.enc_seq_length = enc_seq_length
        self.dec_seq_length = dec_seq_length
        self.tie_output = tie_output
        self.share_embeddings = share_embeddings
        self.output_bias = output_bias

        settings, dtype = self.settings, self.dtype_policy
        self.source_embedding = self._embedding(enc_vocab_size, "source_embedding")
        self.target_embedding = self.source_embedding
        if not share_embeddings:
            self.target_embedding = self._embedding(dec_vocab_size, "target_embedding")
        self.encoder = Encoder(settings=settings, dtype=dtype, name="encoder")
        self.decoder = Decoder(settings=settings, dtype=dtype, name="decoder")
        if not tie_output:
            self.projection = keras.layers.Dense(dec_vocab_size, dtype=dtype, name="projection")

    def _embedding(self, words, name):
        return PositionEmbeddingFixedWeights(
            None, words, self.settings.d_model, dtype=self.dtype_policy, name=name
        )

    def build(self, input_shape):
        (batch, source_length), (_, target_length) = input_shape
        source_shape = (batch, source_length, self.settings.d_model)
        target_shape = (batch, target_length, self.settings.d_model)
        self.source_embedding.build((batch, source_length))
        if not self.share_embeddings:
            self.target_embedding.build((batch, target_length))
        self.encoder.build(source_shape)
        self.decoder.build(target_shape, source_shape)
        if not self.tie_output:
            self.projection.build(target_shape)
        if self.output_bias:
            self.bias = self.add_weight((self.dec_vocab_size,), "zeros", name="output_bias")
        self.built = True

    def encode(self, encoder_input, training=None):
        """Encodes the source: (B, S) ids -> (B, S, D)."""
        check_length(encoder_input.shape[1], enc_seq_length=self.enc_seq_length)
        x = self.source_embedding(encoder_input)
        return self.encoder(x, attention_mask=padding_mask(encoder_input), training=training)

    def decode(self, decoder_input, encoder_output, encoder_input, training=None):
        """Predicts each next word of the target from the encoded source.

        Args:
            decoder_input: integer token ids, (B, T).
            encoder_output: what `encode` returned, (B, S, D).
            encoder_input: the source's ids, (B, S), which say where its padding is.
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

    def _to_logits(self, x, words=None):
        if not self.tie_output:
            return self.projection(x)
        logits = self.target_embedding.to_logits(x, words)
        return logits + ops.cast(self.bias, logits.dtype) if self.output_bias else logits

    def start(self, encoder_input, length, copies=1):
        """Encodes the source and makes room for decoding it step by step.

        Args:
            encoder_input: integer token ids, (B, S).
            length: L, the number of steps to make room for.
            copies: rows for each sentence, next to each other: B becomes B * copies from here on.

        Returns:
            The empty cache, and the memory: what stays the same from step to step. Both are nested
            structures of tensors; each row of the cache belongs to a row of the batch.
        """
        encoder_output = self.encode(encoder_input, training=False)
        layers, memory = self.decoder.start(encoder_output, length)
        rows = {"layers": memory, "mask": padding_mask(encoder_input)}
        cache = {"layers": layers, "seen": ops.zeros((ops.shape(encoder_input)[0], length), "bool")}
        if copies > 1:
            rows, cache = keras.tree.map_structure(
                lambda x: ops.repeat(x, copies, axis=0), (rows, cache)
            )
        words = self.target_embedding.vectors(self.compute_dtype) if self.tie_output else ()
        return cache, {**rows, "words": words}

    def step(self, tokens, position, cache, memory):
        """Predicts the next word of the target from one token and the cache of those before.

        The logits are those of `decode` at this position.

        Args:
            tokens: the tokens at this position, int32 (B,); at position 0 the start token.
            position: int32 scalar.
            cache: what the step before returned, or `start`.
            memory: what `start` returned.

        Returns:
            Logits, (B, V), and the next cache.
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
        logits = self._to_logits(ops.squeeze(x, axis=1), memory["words"])
        return logits, {"layers": layers, "seen": seen}

    def group_attention(self, weights):
        """Sorts what `record_attention` has collected by its kind and layer.

        Args:
            weights: dictionary from a layer to its weights.

        Returns:
            A dictionary of lists with an entry per layer: "encoder", "causal" and "cross", as far
            as they were collected.
        """
        attentions = {
            "encoder": [layer.self_attention for layer in self.encoder.layers],
            "causal": [layer.self_attention for layer in self.decoder.layers],
            "cross": [layer.cross_attention for layer in self.decoder.layers],
        }
        return {
            kind: [weights[layer.attention] for layer in layers]
            for kind, layers in attentions.items()
            if all(layer.attention in weights for layer in layers)
        }

    def get_config(self):
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
