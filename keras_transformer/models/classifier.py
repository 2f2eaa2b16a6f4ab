"""A text classifier."""

from typing import Any, Self

import keras
from keras import ops

from keras_transformer._utils.checks import check_choice, check_integers, check_rate, check_sizes
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer._utils.types import PathLike, Shape, Tensor
from keras_transformer.layers._parts import SOME_TOKENS, build_further_layers
from keras_transformer.layers.dropout import Dropout
from keras_transformer.models._head import ModelWithHead
from keras_transformer.models.bert import Bert, ids_and_segments
from keras_transformer.pretrained.bert import read_checkpoint

POOLINGS = ("first", "mean", "pooler")


@keras.saving.register_keras_serializable(package="keras_transformer")
class EncoderClassifier(ModelWithHead):
    """A text classifier: an encoder, pooling, dropout and a dense layer.

    It is trained from scratch, or fine-tuned from a pre-trained body.

    Shape letters: B batch, S length, D model size, C labels.

    Args:
        body: encoder of token ids, such as `Bert`, with an output of shape (B, S, D). It is used
            directly, not copied. Its pooler becomes non-trainable unless `pooling` uses it.
        num_labels: number of labels, C.
        pooling: the vector that represents the text: "first", the hidden state of the first token;
            "mean", the mean over all tokens except padding; "pooler", `body.pool`.
        rate: dropout rate of the pooled vector.

    Raises:
        ValueError: if `num_labels` is not a positive integer, `pooling` is unknown, or `rate` is
            not in [0, 1).

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 4.1.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=1)
        >>> body = kt.Bert(vocab_size=100, seq_length=32, settings=settings)
        >>> model = kt.EncoderClassifier(body, num_labels=3, pooling="mean")
        >>> ops.shape(model(np.array([[2, 7, 9, 3], [2, 8, 3, 0]])))  # (B, C)
        (2, 3)
    """

    def __init__(
        self, body: Any, num_labels: int, pooling: str = "first", rate: float = 0.1, **kwargs: Any
    ) -> None:
        [num_labels] = check_sizes(num_labels=num_labels)
        check_rate(rate=rate)
        check_choice(POOLINGS, pooling=pooling)
        super().__init__(body, uses_pooler=pooling == "pooler", **kwargs)
        self.num_labels = num_labels
        self.pooling = pooling
        self.rate = rate
        dtype = self.dtype_policy
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")
        self.classifier = keras.layers.Dense(self.num_labels, dtype=dtype, name="classifier")

    @classmethod
    def from_pretrained(cls, folder: PathLike, dtype: Any = None) -> Self:
        """Loads a BERT or DistilBERT and its classifier with published weights.

        See `Bert.from_pretrained`.
        """
        checkpoint = read_checkpoint(folder)
        body = Bert.from_checkpoint(checkpoint, dtype)
        if body.pooler is None:
            raise ValueError(
                "The classifier of a text reads the vector of the pooler: choose a model that has "
                f"one, unlike those that label tokens. Received: {folder}"
            )
        num_labels, *size = checkpoint.shape("classifier.weight")
        check_integers(1, 10**6, num_labels=num_labels)
        if size != [body.settings.d_model]:
            raise ValueError(
                "classifier.weight must have a row of `d_model` numbers per label: download the "
                f"model again. Received: the shape {(num_labels, *size)}"
            )
        model = cls(body, num_labels, pooling="pooler", rate=body.settings.rate)
        model.build((None, None))
        checkpoint.load_layer(model.classifier, "classifier")
        checkpoint.check_complete()
        return model

    def build(self, input_shape: Any) -> None:
        self._build_body(input_shape)
        batch, _, size = self.body.compute_output_shape(input_shape)
        self.classifier.build((batch, size))
        self.built = True
        build_further_layers(self, SOME_TOKENS)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        """Computes the logits of the labels.

        Args:
            inputs: inputs of the body: integer token ids, (B, S), or `(ids, segments)`.
            training: whether dropout is active.

        Returns:
            Logits, (B, C).
        """
        x = self.pool(inputs, training=training)
        return self.classifier(self.dropout(x, training=training))

    def pool(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        """Computes the pooled vector of each text, (B, D); takes the inputs of `call`."""
        x = self.body(inputs, training=training)
        if self.pooling == "first":
            return x[:, 0]
        if self.pooling == "pooler":
            return self.body.pool(x)
        ids, _ = ids_and_segments(inputs)
        return masked_mean(x, ids)

    def get_config(self) -> dict[str, Any]:
        config = {"num_labels": self.num_labels, "pooling": self.pooling, "rate": self.rate}
        return {**super().get_config(), **config}

    def compute_output_shape(self, input_shape: Any) -> Shape:
        return (self.body.compute_output_shape(input_shape)[0], self.num_labels)


def masked_mean(x, ids):
    """Returns the mean over all tokens except padding.

    Args:
        x: hidden states, (B, S, D).
        ids: integer token ids, (B, S).

    Returns:
        (B, D); zeros for a text that is all padding.
    """
    mask = ops.cast(ops.not_equal(ids, PADDING_ID), x.dtype)
    total = ops.einsum("bs,bsd->bd", mask, x)
    return total / ops.maximum(ops.sum(mask, axis=1, keepdims=True), 1)
