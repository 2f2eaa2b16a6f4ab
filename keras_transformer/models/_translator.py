"""What the translators have in common."""

import keras

from keras_transformer.layers.record_attention import record_attention


class Translator(keras.Model):
    """Called on `(encoder_input, decoder_input)`, it decodes from what it encodes.

    A subclass has the halves `encode` and `decode`, to which inference adds `start` and `step`.
    """

    def call(self, inputs, training=None):
        """Predicts each next word of the target.

        Args:
            inputs: `(encoder_input, decoder_input)`, integer token ids, (B, S) and (B, T), in which
                0 is padding. The decoder's input begins with the start token.
            training: whether dropout is active.

        Returns:
            Logits, (B, T, V); those at position t are of the word after `decoder_input[:, t]`.
        """
        encoder_input, decoder_input = inputs
        encoder_output = self.encode(encoder_input, training=training)
        return self.decode(decoder_input, encoder_output, encoder_input, training=training)

    def attention_scores(self, encoder_input, decoder_input):
        """What every head of every layer attends to.

        Args:
            encoder_input: integer token ids, (B, S).
            decoder_input: integer token ids, (B, T).

        Returns:
            A dictionary of lists with an entry per layer: "cross" (B, N, T, S), and in a
            transformer "encoder" (B, N, S, S) and "causal" (B, N, T, T). Rows sum to 1.
        """
        with record_attention() as weights:
            self((encoder_input, decoder_input))
        return self.group_attention(weights)

    def compute_output_shape(self, input_shape):
        return (*input_shape[1], self.dec_vocab_size)
