"""BERT with heads for pre-training and for question answering."""

from typing import Any, Self

import keras
import numpy as np
from keras import ops

from keras_transformer._utils.types import PathLike, Shape, Tensor
from keras_transformer.layers._parts import SOME_TOKENS, build_further_layers
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.models._head import ModelWithHead
from keras_transformer.models.bert import Bert
from keras_transformer.pretrained.bert import read_checkpoint


@keras.saving.register_keras_serializable(package="keras_transformer")
class PretrainingBert(ModelWithHead):
    """BERT with the pre-training heads: masked language modeling and next sentence prediction.

    It is called on `(ids, segments, positions)` and returns the logits of both tasks. The output
    layer of masked language modeling is tied to the token embeddings.

    Shape letters: B batch, S length, M masked tokens, D model size, V vocabulary.

    Args:
        body: a `Bert` with segments and a pooler. It is used directly, not copied.

    Raises:
        ValueError: if the body has no segments or no pooler.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 3.1.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=1)
        >>> model = kt.PretrainingBert(kt.Bert(100, 32, settings))
        >>> ids, segments = np.array([[2, 4, 3, 9, 4, 3]]), np.array([[0, 0, 0, 1, 1, 1]])
        >>> logits = model((ids, segments, np.array([[1, 4]])))  # tokens 1 and 4 are masked
        >>> ops.shape(logits["words"]), ops.shape(logits["next"])  # (B, M, V) and (B, 2)
        ((1, 2, 100), (1, 2))
    """

    def __init__(self, body: Bert, **kwargs: Any) -> None:
        super().__init__(body, uses_pooler=True, **kwargs)
        if body.num_segments is None or body.pooler is None:
            raise ValueError(
                "Next sentence prediction needs a body with segments and a pooler. "
                f"Received: num_segments={body.num_segments}, pooler={body.pooler}"
            )
        dtype = self.dtype_policy
        self.transform = keras.layers.Dense(
            body.settings.d_model, body.settings.activation, dtype=dtype, name="transform"
        )
        self.norm = LayerNormalization(epsilon=body.settings.epsilon, dtype=dtype, name="norm")
        self.next = keras.layers.Dense(2, dtype=dtype, name="next")

    @classmethod
    def from_pretrained(cls, folder: PathLike, dtype: Any = None) -> Self:
        """Loads a BERT and both heads with published weights; see `Bert.from_pretrained`."""
        checkpoint = read_checkpoint(folder)
        checkpoint.shape("cls.seq_relationship.weight")  # fails early on models without this head
        model = cls(Bert.from_checkpoint(checkpoint, dtype))
        model.build([(None, None)] * 3)
        checkpoint.load_layer(model.transform, "cls.predictions.transform.dense")
        checkpoint.load_layer(model.norm, "cls.predictions.transform.LayerNorm")
        checkpoint.load_variable(model.bias, "cls.predictions.bias")
        checkpoint.load_layer(model.next, "cls.seq_relationship")
        checkpoint.check_complete()
        return model

    def build(self, input_shape: Any) -> None:
        ids_shape, segments_shape, _ = input_shape
        self._build_body((ids_shape, segments_shape))
        shape = (*ids_shape, self.body.settings.d_model)
        self.transform.build(shape)
        self.norm.build(shape)
        self.next.build((shape[0], shape[-1]))
        self.bias = self.add_weight((self.body.vocab_size,), "zeros", name="bias")
        self.built = True
        first = np.zeros_like(SOME_TOKENS)
        build_further_layers(self, (SOME_TOKENS, first, first))

    def call(self, inputs: Any, training: bool | None = None) -> dict[str, Tensor]:
        """Computes the logits of both pre-training tasks.

        Args:
            inputs: `(ids, segments, positions)`, integers: the token ids, (B, S), some of them
                masked; the segment of each token, (B, S); the positions to predict, (B, M).
            training: whether dropout is active.

        Returns:
            A dictionary of logits: "words" (B, M, V) for the tokens at `positions`, and "next"
            (B, 2) for the second text; class 0: it follows the first, class 1: it does not.
        """
        ids, segments, positions = inputs
        x = self.body((ids, segments), training=training)
        masked = ops.take_along_axis(x, ops.expand_dims(positions, -1), axis=1)  # (B, M, D)
        logits = self.body.embedding.to_logits(self.norm(self.transform(masked)))
        logits = logits + ops.cast(self.bias, logits.dtype)
        return {"words": logits, "next": self.next(self.body.pool(x))}

    def compute_output_shape(self, input_shape: Any) -> dict[str, Shape]:
        ids_shape, _, positions_shape = input_shape
        words = (*positions_shape, self.body.vocab_size)
        return {"words": words, "next": (ids_shape[0], 2)}


@keras.saving.register_keras_serializable(package="keras_transformer")
class AnsweringBert(ModelWithHead):
    """BERT with a head for extractive question answering: the start and end of the answer.

    Shape letters: B batch, S length.

    Args:
        body: a `Bert`. It is used directly, not copied; its pooler becomes non-trainable, because
            it is not used.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 4.2.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=1)
        >>> model = kt.AnsweringBert(kt.Bert(100, 32, settings))
        >>> ids, segments = np.array([[2, 7, 3, 9, 8, 3]]), np.array([[0, 0, 0, 1, 1, 1]])
        >>> logits = model((ids, segments))
        >>> ops.shape(logits["start"]), ops.shape(logits["end"])
        ((1, 6), (1, 6))
    """

    def __init__(self, body: Bert, **kwargs: Any) -> None:
        super().__init__(body, uses_pooler=False, **kwargs)
        self.span = keras.layers.Dense(2, dtype=self.dtype_policy, name="span")

    @classmethod
    def from_pretrained(cls, folder: PathLike, dtype: Any = None) -> Self:
        """Loads a BERT or DistilBERT and this head with published weights.

        See `Bert.from_pretrained`.
        """
        checkpoint = read_checkpoint(folder)
        checkpoint.shape("qa_outputs.weight")  # fails early on models without this head
        model = cls(Bert.from_checkpoint(checkpoint, dtype))
        model.build((None, None))
        checkpoint.load_layer(model.span, "qa_outputs")
        checkpoint.check_complete()
        return model

    def build(self, input_shape: Any) -> None:
        self._build_body(input_shape)
        self.span.build(self.body.compute_output_shape(input_shape))
        self.built = True
        build_further_layers(self, SOME_TOKENS)

    def call(self, inputs: Tensor, training: bool | None = None) -> dict[str, Tensor]:
        """Computes the logits of every token as the start and as the end of the answer.

        Args:
            inputs: inputs of the body: integer token ids, (B, S), or `(ids, segments)`.
            training: whether dropout is active.

        Returns:
            A dictionary of logits: "start" (B, S) and "end" (B, S).
        """
        scores = self.span(self.body(inputs, training=training))
        return {"start": scores[..., 0], "end": scores[..., 1]}

    def compute_output_shape(self, input_shape: Any) -> dict[str, Shape]:
        shape = self.body.compute_output_shape(input_shape)[:2]
        return {"start": shape, "end": shape}
