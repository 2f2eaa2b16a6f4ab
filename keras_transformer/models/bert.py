"""BERT: an encoder that reads text, and the heads that use what it has read."""

import keras

from keras_transformer._utils.checks import check_choice, check_sizes
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.segment_embedding import SegmentEmbedding
from keras_transformer.masks import padding_mask
from keras_transformer.pretrained.bert import BERT_HEADS, bert_arguments, load_bert, read_checkpoint

POOLERS = ("tanh", "relu", None)


@keras.saving.register_keras_serializable(package="keras_transformer")
class Bert(keras.Model):
    """Reads one text or two: token ids become vectors that know what stands around them.

    It reads ids in which 0 is padding, `[CLS] text [SEP]` or `[CLS] text [SEP] text [SEP]`, as
    `WordPieceTokenizer` writes them. Without segments and pooler it is DistilBERT.

    Shape letters: B batch, S length, D model size, V vocabulary.

    Args:
        vocab_size: number of tokens, V.
        seq_length: number of learned positions; no sequence may be longer.
        h: number of heads.
        d_k: size of the queries and keys, per head.
        d_v: size of the values, per head.
        d_model: size of the vectors between the layers, D.
        d_ff_inner: size of the feed-forward networks' inner layer.
        n: number of layers.
        rate: dropout rate of the embeddings and of each sub-layer's output.
        activation: activation of the feed-forward networks.
        norm_first: whether to normalise before each sub-layer instead of after it.
        num_segments: number of segments; None for none.
        pooler: activation of the dense layer that `pool` sends the first token through, "tanh" or
            "relu"; None for no such layer.
        epsilon: what the norms add to the variance.
        attention_rate: dropout rate of the attention weights.

    Raises:
        ValueError: if a size is no positive integer, a rate not in [0, 1), `epsilon` not positive
            or `pooler` unknown; if a sequence is longer than `seq_length`.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 3;
        "DistilBERT, a distilled version of BERT" (Sanh et al., 2019), section 3.
    """

    def __init__(
        self,
        vocab_size,
        seq_length,
        h,
        d_k,
        d_v,
        d_model,
        d_ff_inner,
        n,
        rate,
        activation="gelu",
        norm_first=False,
        num_segments=2,
        pooler="tanh",
        epsilon=1e-12,
        attention_rate=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(d_model=d_model, d_ff_inner=d_ff_inner)
        check_choice(POOLERS, pooler=pooler)
        self.vocab_size = vocab_size
        self.seq_length = seq_length
        self.h = h
        self.d_k = d_k
        self.d_v = d_v
        self.d_model = d_model
        self.d_ff_inner = d_ff_inner
        self.n = n
        self.rate = rate
        self.activation = activation
        self.norm_first = norm_first
        self.num_segments = num_segments
        self.pooler = pooler
        self.epsilon = epsilon
        self.attention_rate = attention_rate

        dtype = self.dtype_policy
        sizes = (seq_length, vocab_size, d_model, num_segments)
        self.embedding = SegmentEmbedding(*sizes, epsilon=epsilon, dtype=dtype, name="embedding")
        sizes = (h, d_k, d_v, d_model, d_ff_inner, n, rate, activation, norm_first)
        options = {"epsilon": epsilon, "attention_rate": attention_rate, "dtype": dtype}
        self.encoder = Encoder(*sizes, **options, name="encoder")
        if pooler is not None:
            self.pooling = keras.layers.Dense(d_model, pooler, dtype=dtype, name="pooling")

    @classmethod
    def from_pretrained(cls, folder, **kwargs):
        """A BERT or DistilBERT with published weights.

        Args:
            folder: path of a folder in the layout of Hugging Face, with `config.json` and
                `model.safetensors`. The weights of heads are left aside.
            **kwargs: further arguments, such as `dtype`.

        Returns:
            A built `Bert`.

        Raises:
            FileNotFoundError: if a file is not there.
            ValueError: if a file is damaged, the architecture another, or a weight is missing, left
                over or of another shape.
        """
        checkpoint = read_checkpoint(folder)
        body = cls.of_checkpoint(checkpoint, **kwargs)
        checkpoint.finish(ignored=BERT_HEADS)
        return body

    @classmethod
    def of_checkpoint(cls, checkpoint, **kwargs):
        """Likewise, of a `Checkpoint`, which the caller finishes: it may have a head as well."""
        body = cls(**{**bert_arguments(checkpoint), **kwargs})
        body.build((None, None))
        load_bert(checkpoint, body)
        return body

    def build(self, input_shape):
        ids_shape = _ids_shape(input_shape)
        self.embedding.build(ids_shape)
        self.encoder.build((*ids_shape, self.d_model))
        if self.pooler is not None:
            self.pooling.build((ids_shape[0], self.d_model))
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
            "h": self.h,
            "d_k": self.d_k,
            "d_v": self.d_v,
            "d_model": self.d_model,
            "d_ff_inner": self.d_ff_inner,
            "n": self.n,
            "rate": self.rate,
            "activation": self.activation,
            "norm_first": self.norm_first,
            "num_segments": self.num_segments,
            "pooler": self.pooler,
            "epsilon": self.epsilon,
            "attention_rate": self.attention_rate,
        }
        return {**super().get_config(), **arguments}

    def compute_output_shape(self, input_shape):
        return (*_ids_shape(input_shape), self.d_model)


def ids_and_segments(inputs):
    """Returns what a `Bert` is called on as a pair; the segments are None for ids alone."""
    return inputs if isinstance(inputs, (tuple, list)) else (inputs, None)


def _ids_shape(input_shape):
    """Of ids alone, or of ids and segments."""
    return input_shape[0] if isinstance(input_shape[0], (tuple, list)) else input_shape
