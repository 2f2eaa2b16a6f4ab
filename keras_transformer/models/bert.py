"""BERT: an encoder that reads text, and the heads that use what it has read."""

import keras

from keras_transformer._utils.checks import check_choice
from keras_transformer.layers._block import WithSettings
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.segment_embedding import SegmentEmbedding
from keras_transformer.masks import padding_mask
from keras_transformer.pretrained.bert import BERT_HEADS, bert_arguments, load_bert, read_checkpoint

POOLERS = ("tanh", "relu", None)


@keras.saving.register_keras_serializable(package="keras_transformer")
class Bert(WithSettings, keras.Model):
    """Reads one text or two: token ids become vectors that know what stands around them.

    It reads ids in which 0 is padding, `[CLS] text [SEP]` or `[CLS] text [SEP] text [SEP]`, as
    `WordPieceTokenizer` writes them. Without segments and pooler it is DistilBERT.

    Shape letters: B batch, S length, D model size, V vocabulary.

    Args:
        vocab_size: number of tokens, V.
        seq_length: number of learned positions; no sequence may be longer.
        settings: `BlockSettings` of its layers.
        num_segments: number of segments; None for none.
        pooler: activation of the dense layer that `pool` sends the first token through, "tanh" or
            "relu"; None for no such layer.

    Raises:
        ValueError: if a size is not a positive integer, `pooler` is unknown, or a sequence is
            longer than `seq_length`.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 3;
        "DistilBERT, a distilled version of BERT" (Sanh et al., 2019), section 3.
    """

    default_settings = WithSettings.default_settings | {"activation": "gelu", "epsilon": 1e-12}

    def __init__(
        self, vocab_size, seq_length, settings=None, num_segments=2, pooler="tanh", **kwargs
    ):
        super().__init__(settings, **kwargs)
        check_choice(POOLERS, pooler=pooler)
        self.vocab_size = vocab_size
        self.seq_length = seq_length
        self.num_segments = num_segments
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
    def from_pretrained(cls, folder, dtype=None):
        """A BERT or DistilBERT with published weights.

        Args:
            folder: path of a folder in the layout of Hugging Face, with `config.json` and
                `model.safetensors`. The weights of heads are left aside.
            dtype: dtype policy to compute in; None for Keras's global policy.

        Returns:
            A built `Bert`.

        Raises:
            FileNotFoundError: if a file is not there.
            ValueError: if a file is damaged, the architecture another, or a weight is missing, left
                over or of another shape.
        """
        checkpoint = read_checkpoint(folder)
        body = cls.from_checkpoint(checkpoint, dtype)
        checkpoint.finish(ignored=BERT_HEADS)
        return body

    @classmethod
    def from_checkpoint(cls, checkpoint, dtype=None):
        """Likewise, of a `Checkpoint`, which the caller finishes: it may have a head as well."""
        body = cls(**bert_arguments(checkpoint), dtype=dtype)
        body.build((None, None))
        load_bert(checkpoint, body)
        return body

    def build(self, input_shape):
        ids_shape = _ids_shape(input_shape)
        self.embedding.build(ids_shape)
        self.encoder.build((*ids_shape, self.settings.d_model))
        if self.pooler is not None:
            self.pooling.build((ids_shape[0], self.settings.d_model))
        self.built = True

    def call(self, inputs, training=None):
        """Reads.

        Args:
            inputs: integer token ids, (B, S), or a pair: these, and the segment of each token,
                (B, S). Without segments all are of segment 0.
            training: whether dropout is active.

        Returns:
            (B, S, D).
        """
        ids, segments = ids_and_segments(inputs)
        x = self.embedding(ids, segments)
        return self.encoder(x, attention_mask=padding_mask(ids), training=training)

    def pool(self, x):
        """One vector for a text: `call`'s output (B, S, D) -> (B, D), from the first token."""
        return x[:, 0] if self.pooler is None else self.pooling(x[:, 0])

    def get_config(self):
        arguments = {
            "vocab_size": self.vocab_size,
            "seq_length": self.seq_length,
            "num_segments": self.num_segments,
            "pooler": self.pooler,
        }
        return {**super().get_config(), **arguments}

    def compute_output_shape(self, input_shape):
        return (*_ids_shape(input_shape), self.settings.d_model)


def ids_and_segments(inputs):
    """Returns what a `Bert` is called on as a pair; the segments are None for ids alone."""
    return inputs if isinstance(inputs, (tuple, list)) else (inputs, None)


def _ids_shape(input_shape):
    """Of ids alone, or of ids and segments."""
    return input_shape[0] if isinstance(input_shape[0], (tuple, list)) else input_shape
