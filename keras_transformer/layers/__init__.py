"""The layers, one public class per file."""

from keras_transformer.layers.add_normalization import AddNormalization
from keras_transformer.layers.additive_attention import AdditiveAttention
from keras_transformer.layers.bahdanau_decoder import BahdanauDecoder
from keras_transformer.layers.decoder import Decoder
from keras_transformer.layers.decoder_layer import DecoderLayer
from keras_transformer.layers.dot_product_attention import DotProductAttention
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.encoder_layer import EncoderLayer
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.layers.luong_attention import LuongAttention
from keras_transformer.layers.luong_decoder import LuongDecoder
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.layers.patch_embedding import PatchEmbedding
from keras_transformer.layers.position_embedding import (
    PositionEmbeddingFixedWeights,
    PositionEmbeddingLayer,
)
from keras_transformer.layers.record_attention import record_attention, store_attention
from keras_transformer.layers.relative_bias import RelativeBias
from keras_transformer.layers.rotary_embedding import rotary_embedding
from keras_transformer.layers.segment_embedding import SegmentEmbedding
from keras_transformer.layers.sequence_attention import SequenceAttention
from keras_transformer.layers.sinusoidal_encoding import sinusoidal_encoding

__all__ = [
    "AddNormalization",
    "AdditiveAttention",
    "BahdanauDecoder",
    "Decoder",
    "DecoderLayer",
    "DotProductAttention",
    "Dropout",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "LayerNormalization",
    "LuongAttention",
    "LuongDecoder",
    "MultiHeadAttention",
    "PatchEmbedding",
    "PositionEmbeddingFixedWeights",
    "PositionEmbeddingLayer",
    "RelativeBias",
    "SegmentEmbedding",
    "SequenceAttention",
    "record_attention",
    "rotary_embedding",
    "sinusoidal_encoding",
    "store_attention",
]
