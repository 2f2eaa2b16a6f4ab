"""The heads of BERT, for training it and for asking it."""

import keras
from keras import ops

from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.models._head import ModelWithHead
from keras_transformer.models.bert import Bert
from keras_transformer.pretrained.bert import read_checkpoint


@keras.saving.register_keras_serializable(package="keras_transformer")
class PretrainingBert(ModelWithHead):
    """Guesses the masked words, and whether the second text follows on the first.

    Called on `(ids, segments, positions)` it returns the logits of both. The words' vectors are
    also the weights of the layer that scores them.

    Shape letters: B batch, S length, M masked words, D model size, V vocabulary.

    Args:
        body: a `Bert` with segments and a pooler. It is not copied.

    Raises:
        ValueError: if the body has no segments or no pooler.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 3.1.
    """

    def __init__(self, body, **kwargs):
        super().__init__(body, **kwargs)
        if body.num_segments is None or body.pooler is None:
            raise ValueError(
                "Two texts are told apart by segments, and judged by what the pooler gives. "
                f"Received: num_segments={body.num_segments}, pooler={body.pooler}"
            )
        dtype = self.dtype_policy
        self.transform = keras.layers.Dense(
            body.settings.d_model, body.settings.activation, dtype=dtype, name="transform"
        )
        self.norm = LayerNormalization(epsilon=body.settings.epsilon, dtype=dtype, name="norm")
        self.next = keras.layers.Dense(2, dtype=dtype, name="next")

    @classmethod
    def from_pretrained(cls, folder, dtype=None):
        """A BERT with both heads and published weights; see `Bert.from_pretrained`."""
        checkpoint = read_checkpoint(folder)
        checkpoint.shape("cls.seq_relationship.weight")  # others are not of this task
        model = cls(Bert.from_checkpoint(checkpoint, dtype))
        model.build([(None, None)] * 3)
        checkpoint.load(model.transform, "cls.predictions.transform.dense")
        checkpoint.load(model.norm, "cls.predictions.transform.LayerNorm")
        checkpoint.load_variable(model.bias, "cls.predictions.bias")
        checkpoint.load(model.next, "cls.seq_relationship")
        checkpoint.finish()
        return model

    def build(self, input_shape):
        ids_shape, segments_shape, _ = input_shape
        self._build_body((ids_shape, segments_shape))
        shape = (*ids_shape, self.body.settings.d_model)
        self.transform.build(shape)
        self.norm.build(shape)
        self.next.build((shape[0], shape[-1]))
        self.bias = self.add_weight((self.body.vocab_size,), "zeros", name="bias")
        self.built = True

    def call(self, inputs, training=None):
        """Guesses.

        Args:
            inputs: `(ids, segments, positions)`, integers: the tokens, (B, S), with some masked;
                the segment of each, (B, S); and the places of the words to guess, (B, M).
            training: whether dropout is active.

        Returns:
            A dictionary of logits: "words" (B, M, V), and "next" (B, 2), where 0 is: it follows.
        """
        ids, segments, positions = inputs
        x = self.body((ids, segments), training=training)
        masked = ops.take_along_axis(x, ops.expand_dims(positions, -1), axis=1)  # (B, M, D)
        logits = self.body.embedding.to_logits(self.norm(self.transform(masked)))
        logits = logits + ops.cast(self.bias, logits.dtype)
        return {"words": logits, "next": self.next(self.body.pool(x))}

    def compute_output_shape(self, input_shape):
        ids_shape, _, positions_shape = input_shape
        words = (*positions_shape, self.body.vocab_size)
        return {"words": words, "next": (ids_shape[0], 2)}


@keras.saving.register_keras_serializable(package="keras_transformer")
class AnsweringBert(ModelWithHead):
    """Finds where in a text the answer to a question begins and ends.

    Shape letters: B batch, S length.

    Args:
        body: a `Bert`. It is not copied.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 4.2.
    """

    def __init__(self, body, **kwargs):
        super().__init__(body, **kwargs)
        self.span = keras.layers.Dense(2, dtype=self.dtype_policy, name="span")

    @classmethod
    def from_pretrained(cls, folder, dtype=None):
        """A BERT or DistilBERT that answers, with published weights; see `Bert.from_pretrained`."""
        checkpoint = read_checkpoint(folder)
        checkpoint.shape("qa_outputs.weight")
        model = cls(Bert.from_checkpoint(checkpoint, dtype))
        model.build((None, None))
        checkpoint.load(model.span, "qa_outputs")
        checkpoint.finish()
        return model

    def build(self, input_shape):
        self._build_body(input_shape)
        self.span.build(self.body.compute_output_shape(input_shape))
        self.built = True

    def call(self, inputs, training=None):
        """Scores every token as the first and as the last of the answer.

        Args:
            inputs: what the body reads: integer token ids, (B, S), or these and their segments.
            training: whether dropout is active.

        Returns:
            A dictionary of logits: "start" (B, S) and "end" (B, S).
        """
        scores = self.span(self.body(inputs, training=training))
        return {"start": scores[..., 0], "end": scores[..., 1]}

    def compute_output_shape(self, input_shape):
        shape = self.body.compute_output_shape(input_shape)[:2]
        return {"start": shape, "end": shape}
