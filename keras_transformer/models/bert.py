"""The BERT encoder."""

from collections.abc import Mapping
from typing import Any, Self

import keras

from keras_transformer._utils.checks import check_choice, check_optional_size, check_sizes
from keras_transformer._utils.types import PathLike, Shape, Tensor
from keras_transformer.layers._parts import SOME_TOKENS, build_further_layers, build_part
from keras_transformer.layers._settings_mixin import SettingsMixin
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.segment_embedding import SegmentEmbedding
from keras_transformer.masks import padding_mask
from keras_transformer.models.lora import AdaptableModel
from keras_transformer.pretrained.bert import BERT_HEADS, bert_arguments, load_bert, read_checkpoint
from keras_transformer.pretrained.checkpoint import Checkpoint
from keras_transformer.settings import BlockSettings, names_ours

POOLERS = ("tanh", "relu", None)


@keras.saving.register_keras_serializable(package="keras_transformer")
class Bert(SettingsMixin, AdaptableModel):
    """The BERT encoder; without segments and pooler, DistilBERT.

    It is called on token ids padded with 0, `[CLS] text [SEP]` or `[CLS] text [SEP] text [SEP]`,
    as `WordPieceTokenizer` produces them, and returns a contextual vector per token.

    Shape letters: B batch, S length, D model size, V vocabulary.

    Args:
        vocab_size: size of the vocabulary, V.
        seq_length: number of learned positions, and so the maximum length S.
        settings: `BlockSettings` of the layers.
        num_segments: number of segments (token types); None for no segment embeddings.
        pooler: activation of the dense layer that `pool` applies to the first token, "tanh" or
            "relu"; None for no such layer.

    Raises:
        ValueError: if a size is not a positive integer, `pooler` is unknown, or a sequence is
            longer than `seq_length`.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 3;
        "DistilBERT, a distilled version of BERT" (Sanh et al., 2019), section 3.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=1)
        >>> bert = kt.Bert(vocab_size=100, seq_length=32, settings=settings)
        >>> ids, segments = np.array([[2, 7, 3, 9, 3]]), np.array([[0, 0, 0, 1, 1]])
        >>> x = bert((ids, segments))
        >>> ops.shape(x), ops.shape(bert.pool(x))  # (B, S, D) and (B, D)
        ((1, 5, 16), (1, 16))
    """

    default_settings: Mapping[str, Any] = {
        **SettingsMixin.default_settings,
        "activation": "gelu",
        "epsilon": 1e-12,
    }

    @names_ours
    def __init__(
        self,
        vocab_size: int,
        seq_length: int,
        settings: BlockSettings | None = None,
        num_segments: int | None = 2,
        pooler: str | None = "tanh",
        **kwargs: Any,
    ) -> None:
        super().__init__(settings, **kwargs)
        check_choice(POOLERS, pooler=pooler)
        self.vocab_size, self.seq_length = check_sizes(vocab_size=vocab_size, seq_length=seq_length)
        self.num_segments = check_optional_size(num_segments=num_segments)
        self.pooler = pooler

        settings, dtype = self.settings, self.dtype_policy
        self.embedding = SegmentEmbedding(
            *(seq_length, vocab_size, settings.d_model, num_segments),
            epsilon=settings.epsilon,
            dtype=dtype,
            name="embedding",
        )
        self.encoder = Encoder(settings=settings, dtype=dtype, name="encoder")
        if pooler is not None:
            self.pooling = keras.layers.Dense(settings.d_model, pooler, dtype=dtype, name="pooling")

    @classmethod
    def from_pretrained(cls, folder: PathLike, dtype: Any = None) -> Self:
        """Loads a BERT or DistilBERT with published weights.

        Args:
            folder: path of a folder in the Hugging Face layout, with `config.json` and
                `model.safetensors`. Weights of task heads are ignored.
            dtype: dtype policy of the model; None for Keras's global policy.

        Returns:
            A built `Bert`.

        Raises:
            FileNotFoundError: if a file is missing.
            ValueError: if a file is damaged, the architecture is not supported, or a weight is
                missing, unexpected or has the wrong shape.
        """
        checkpoint = read_checkpoint(folder)
        body = cls.from_checkpoint(checkpoint, dtype)
        checkpoint.check_complete(ignored=BERT_HEADS)
        return body

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint, dtype: Any = None) -> Self:
        """Loads the encoder from a `Checkpoint` that may also hold a task head.

        Args:
            checkpoint: an open `Checkpoint`. The caller loads the head from it, if any, and calls
                `check_complete`.
            dtype: dtype policy of the model; None for Keras's global policy.

        Returns:
            A built `Bert`.
        """
        body = cls(**bert_arguments(checkpoint), dtype=dtype)
        body.build((None, None))
        load_bert(checkpoint, body)
        return body

    def build(self, input_shape: Any) -> None:
        ids_shape = _ids_shape(input_shape)
        build_part(self.embedding, ids_shape, dtype="int32")
        build_part(self.encoder, (*ids_shape, self.settings.d_model))
        if self.pooler is not None:
            build_part(self.pooling, (ids_shape[0], self.settings.d_model))
        self.built = True
        build_further_layers(self, SOME_TOKENS)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        """Computes the hidden states of the last layer.

        Args:
            inputs: integer token ids, (B, S), or `(ids, segments)` with the segment of each token,
                (B, S). Without segments, all tokens are of segment 0.
            training: whether dropout is active.

        Returns:
            Hidden states, (B, S, D).
        """
        ids, segments = ids_and_segments(inputs)
        x = self.embedding(ids, segments)
        return self.encoder(x, attention_mask=padding_mask(ids), training=training)

    def pool(self, x: Tensor) -> Tensor:
        """Pools the output of `call`, (B, S, D) -> (B, D): the first token, through the pooler."""
        return x[:, 0] if self.pooler is None else self.pooling(x[:, 0])

    def get_config(self) -> dict[str, Any]:
        arguments = {
            "vocab_size": self.vocab_size,
            "seq_length": self.seq_length,
            "num_segments": self.num_segments,
            "pooler": self.pooler,
        }
        return {**super().get_config(), **arguments}

    def compute_output_shape(self, input_shape: Any) -> Shape:
        return (*_ids_shape(input_shape), self.settings.d_model)


def ids_and_segments(inputs):
    """Returns the inputs of a `Bert` as `(ids, segments)`; segments are None for ids alone."""
    return inputs if isinstance(inputs, (tuple, list)) else (inputs, None)


def _ids_shape(input_shape):
    """Returns the shape of the ids from that of `ids` or `(ids, segments)`."""
    return input_shape[0] if isinstance(input_shape[0], (tuple, list)) else input_shape
