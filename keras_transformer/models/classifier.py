"""A classifier of texts."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_choice, check_rate, check_sizes
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer.layers.dropout import Dropout
from keras_transformer.models._head import ModelWithHead
from keras_transformer.models.bert import Bert, ids_and_segments
from keras_transformer.pretrained.bert import read_checkpoint

POOLINGS = ("first", "mean", "pooler")


@keras.saving.register_keras_serializable(package="keras_transformer")
class EncoderClassifier(ModelWithHead):
    """Gives a text one of some labels: an encoder, one vector for the text, and a dense layer.

    Trained from scratch it is a classifier of its own; with a body that has been trained before it
    is the fine-tuning of BERT.

    Shape letters: B batch, S length, D model size.

    Args:
        body: the encoder of token ids, such as `Bert`: its output is (B, S, D). It is not copied.
        num_labels: number of labels.
        pooling: what stands for the text: "first", the vector of its first token; "mean", that of
            all tokens but padding; "pooler", what `body.pool` makes of them.
        rate: dropout rate of this vector.

    Raises:
        ValueError: if `num_labels` is not a positive integer, `pooling` unknown or `rate` not in
            [0, 1).

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 4.1.
    """

    def __init__(self, body, num_labels, pooling="first", rate=0.1, **kwargs):
        super().__init__(body, **kwargs)
        check_sizes(num_labels=num_labels)
        check_rate(rate=rate)
        check_choice(POOLINGS, pooling=pooling)
        self.num_labels = num_labels
        self.pooling = pooling
        self.rate = rate
        dtype = self.dtype_policy
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")
        self.classifier = keras.layers.Dense(num_labels, dtype=dtype, name="classifier")

    @classmethod
    def from_pretrained(cls, folder, dtype=None):
        """A BERT or DistilBERT that classifies texts, with published weights.

        See `Bert.from_pretrained`.
        """
        checkpoint = read_checkpoint(folder)
        num_labels = checkpoint.shape("classifier.weight")[0]
        body = Bert.from_checkpoint(checkpoint, dtype)
        model = cls(body, num_labels, pooling="pooler", rate=body.settings.rate)
        model.build((None, None))
        checkpoint.load(model.classifier, "classifier")
        checkpoint.finish()
        return model

    def build(self, input_shape):
        self._build_body(input_shape)
        batch, _, size = self.body.compute_output_shape(input_shape)
        self.classifier.build((batch, size))
        self.built = True

    def call(self, inputs, training=None):
        """Scores the labels.

        Args:
            inputs: what the body reads: integer token ids, (B, S), or these and their segments.
            training: whether dropout is active.

        Returns:
            Logits, (B, number of labels).
        """
        x = self.pool(inputs, training=training)
        return self.classifier(self.dropout(x, training=training))

    def pool(self, inputs, training=None):
        """One vector for each text, (B, D)."""
        x = self.body(inputs, training=training)
        if self.pooling == "first":
            return x[:, 0]
        if self.pooling == "pooler":
            return self.body.pool(x)
        ids, _ = ids_and_segments(inputs)
        return masked_mean(x, ids)

    def get_config(self):
        config = {"num_labels": self.num_labels, "pooling": self.pooling, "rate": self.rate}
        return {**super().get_config(), **config}

    def compute_output_shape(self, input_shape):
        return (self.body.compute_output_shape(input_shape)[0], self.num_labels)


def masked_mean(x, ids):
    """The mean over the tokens that are not padding.

    Args:
        x: (B, S, D).
        ids: integer token ids, (B, S).

    Returns:
        (B, D); zeros where there is nothing but padding.
    """
    words = ops.cast(ops.not_equal(ids, PADDING_ID), x.dtype)
    total = ops.einsum("bs,bsd->bd", words, x)
    return total / ops.maximum(ops.sum(words, axis=1, keepdims=True), 1)
