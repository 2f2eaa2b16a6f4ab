"""Language models: what word comes next?"""

import keras
from keras import ops

from keras_transformer._utils.checks import check_rate, check_sizes
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer.layers._block import WithSettings
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.position_embedding import PositionEmbeddingFixedWeights
from keras_transformer.masks import causal_mask, combine_masks, padding_mask


@keras.saving.register_keras_serializable(package="keras_transformer")
class LSTMLanguageModel(keras.Model):
    """Predicts each next word of a text with LSTMs.

    Called on token ids in which 0 is padding, before or after the text, it returns the logits of
    each next word. It has the methods `start` and `step` of `TransformerModel`, so that `Generate`
    searches with it; its cache is the state of its LSTMs.

    Shape letters: B batch, T length, V vocabulary, R rows.

    Args:
        vocab_size: number of words, V.
        d_model: size of the words' vectors.
        units: size of each LSTM.
        n: number of LSTMs, one on the other.
        rate: dropout rate of what each of them reads, and of what the last one puts out.

    Raises:
        ValueError: if a size is not a positive integer or `rate` is not in [0, 1).

    References:
        "Recurrent Neural Network Regularization" (Zaremba et al., 2014), section 3.
    """

    def __init__(self, vocab_size, d_model, units, n, rate, **kwargs):
        super().__init__(**kwargs)
        check_sizes(vocab_size=vocab_size, d_model=d_model, units=units, n=n)
        check_rate(rate=rate)
        self.vocab_size = vocab_size
        self.d_model = d_model
        self.units = units
        self.n = n
        self.rate = rate
        dtype = self.dtype_policy
        self.embedding = keras.layers.Embedding(vocab_size, d_model, dtype=dtype, name="embedding")
        self.lstms = [
            keras.layers.LSTM(units, return_sequences=True, dtype=dtype, name=f"lstm_{i}")
            for i in range(n)
        ]
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")
        self.projection = keras.layers.Dense(vocab_size, dtype=dtype, name="projection")

    def build(self, input_shape):
        self.embedding.build(input_shape)
        for i, lstm in enumerate(self.lstms):
            lstm.build((*input_shape, self.units if i else self.d_model))
        self.dropout.build((*input_shape, self.units))
        self.projection.build((*input_shape, self.units))
        self.built = True

    def call(self, tokens, training=None):
        """Predicts each next word: (B, T) ids -> logits (B, T, V)."""
        x, words = self.embedding(tokens), ops.not_equal(tokens, PADDING_ID)
        for lstm in self.lstms:
            x = lstm(self.dropout(x, training=training), mask=words, training=training)
        return self.projection(self.dropout(x, training=training))

    def start(self, source, length, copies=1):
        """What generating step by step begins with.

        Args:
            source: an array whose first axis says how many texts there are.
            length: number of steps; the state has the same size for any.
            copies: rows for each text, R in all.

        Returns:
            The cache, which is the first state: of each LSTM two tensors (R, units); and the
            memory: nothing.
        """
        rows = ops.shape(source)[0] * copies
        zeros = [ops.zeros((rows, self.units), self.compute_dtype) for _ in range(2 * self.n)]
        return tuple(zip(zeros[::2], zeros[1::2], strict=True)), ()

    def step(self, tokens, position, cache, memory):
        """Predicts the next word from one token and the state after those before.

        Args:
            tokens: int32 (R,).
            position: int32 scalar.
            cache: what the step before returned, or `start`.
            memory: what `start` returned.

        Returns:
            Logits, (R, V), and the next cache.
        """
        x, new = self.embedding(tokens), []
        for lstm, states in zip(self.lstms, cache, strict=True):
            x, states = lstm.cell(x, list(states), training=False)
            new.append(tuple(states))
        return self.projection(x), tuple(new)

    def get_config(self):
        sizes = {"vocab_size": self.vocab_size, "d_model": self.d_model, "units": self.units}
        return {**super().get_config(), **sizes, "n": self.n, "rate": self.rate}

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.vocab_size)


@keras.saving.register_keras_serializable(package="keras_transformer")
class TransformerLanguageModel(WithSettings, keras.Model):
    """Predicts each next word of a text with an encoder that sees nothing of what comes after.

    Such a layer is one of the decoder without the attention to a source. It is called, trained and
    searched as `LSTMLanguageModel` is; its cache holds the keys and values of the words before.

    Shape letters: B batch, T length, L length of the cache, V vocabulary, R rows.

    Args:
        vocab_size: number of words, V.
        seq_length: greatest length of a text that the model is called on; None for any.
        settings: `BlockSettings` of its layers; `d_model` is even.
        tie_output: whether the words' vectors are also the weights of the last projection.

    Raises:
        ValueError: if a size is not a positive integer, `d_model` is odd, or a text is longer than
            `seq_length`.

    References:
        "Generating Wikipedia by Summarizing Long Sequences" (Liu et al., 2018), section 4.2.3.
    """

    default_settings = WithSettings.default_settings | {"norm_first": True}

    def __init__(self, vocab_size, seq_length=None, settings=None, tie_output=True, **kwargs):
        super().__init__(settings, **kwargs)
        self.vocab_size = vocab_size
        self.seq_length = seq_length
        self.tie_output = tie_output
        settings, dtype = self.settings, self.dtype_policy
        self.embedding = PositionEmbeddingFixedWeights(
            seq_length, vocab_size, settings.d_model, dtype=dtype, name="embedding"
        )
        self.encoder = Encoder(settings=settings, dtype=dtype, name="encoder")
        if not tie_output:
            self.projection = keras.layers.Dense(vocab_size, dtype=dtype, name="projection")

    def build(self, input_shape):
        self.embedding.build(input_shape)
        shape = (*input_shape, self.settings.d_model)
        self.encoder.build(shape)
        if not self.tie_output:
            self.projection.build(shape)
        self.built = True

    def call(self, tokens, training=None):
        """Predicts each next word: (B, T) ids -> logits (B, T, V)."""
        words = ops.cast(ops.not_equal(tokens, PADDING_ID), "int32")
        # The first word is at position 0, whatever padding stands before it.
        padding_before = ops.expand_dims(ops.argmax(words, axis=1), 1)
        x = self.embedding(tokens, start=-ops.cast(padding_before, "int32"))
        causal = causal_mask(ops.shape(tokens)[1])
        mask = combine_masks(padding_mask(tokens), causal)
        return self._logits(self.encoder(x, attention_mask=mask, training=training))

    def _logits(self, x, words=None):
        return self.embedding.to_logits(x, words) if self.tie_output else self.projection(x)

    def start(self, source, length, copies=1):
        """What generating step by step begins with.

        Args:
            source: an array whose first axis says how many texts there are.
            length: L, the number of steps to make room for.
            copies: rows for each text, R in all.

        Returns:
            The empty cache, and the memory: the words' vectors, if they are the output's weights.
        """
        rows = ops.shape(source)[0] * copies
        seen = ops.zeros((rows, length), "bool")
        words = self.embedding.vectors(self.compute_dtype) if self.tie_output else ()
        return {"layers": self.encoder.start(rows, length), "seen": seen}, words

    def step(self, tokens, position, cache, memory):
        """Predicts the next word from one token and the cache of those before.

        Args:
            tokens: int32 (R,).
            position: int32 scalar.
            cache: what the step before returned, or `start`.
            memory: what `start` returned.

        Returns:
            Logits, (R, V), and the next cache.
        """
        tokens = ops.expand_dims(tokens, 1)
        seen = ops.slice_update(cache["seen"], (0, position), tokens != PADDING_ID)
        x = self.embedding(tokens, start=position)
        x, layers = self.encoder.step(x, position, cache["layers"], ops.expand_dims(seen, 1))
        return self._logits(ops.squeeze(x, axis=1), memory), {"layers": layers, "seen": seen}

    def get_config(self):
        arguments = {
            "vocab_size": self.vocab_size,
            "seq_length": self.seq_length,
            "tie_output": self.tie_output,
        }
        return {**super().get_config(), **arguments}

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.vocab_size)
