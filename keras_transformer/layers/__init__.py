"""The building blocks, one class per file."""

from keras_transformer.layers.add_normalization import AddNormalization
from keras_transformer.layers.decoder import Decoder
from keras_transformer.layers.decoder_layer import DecoderLayer
from keras_transformer.layers.dot_product_attention import DotProductAttention, record_attention
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.encoder_layer import EncoderLayer
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.layers.position_embedding import (
    PositionEmbeddingFixedWeights,
    PositionEmbeddingLayer,
)
from keras_transformer.layers.sinusoidal_encoding import sinusoidal_encoding

__all__ = [
    "AddNormalization",
    "Decoder",
    "DecoderLayer",
    "DotProductAttention",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "MultiHeadAttention",
    "PositionEmbeddingFixedWeights",
    "PositionEmbeddingLayer",
    "record_attention",
    "sinusoidal_encoding",
]
