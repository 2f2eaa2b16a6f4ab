"""The Transformer as Keras 3 layers: train, plot, translate."""

from keras_transformer.config import RunConfig
from keras_transformer.data.dataset import PrepareDataset, PreparedDataset
from keras_transformer.data.pairs import read_pairs, write_pairs
from keras_transformer.data.tokenizers import WordTokenizer
from keras_transformer.evaluation import score
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.translate import Hypothesis, Translate
from keras_transformer.layers import (
    AddNormalization,
    Decoder,
    DecoderLayer,
    DotProductAttention,
    Encoder,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    PositionEmbeddingFixedWeights,
    PositionEmbeddingLayer,
    record_attention,
    sinusoidal_encoding,
)
from keras_transformer.masks import causal_mask, combine_masks, padding_mask
from keras_transformer.models import TransformerModel
from keras_transformer.plotting import plot_attention, plot_losses
from keras_transformer.run_folder import RunFolder
from keras_transformer.training.losses import MaskedCrossEntropy
from keras_transformer.training.metrics import MaskedAccuracy
from keras_transformer.training.run import evaluate_run, train_run
from keras_transformer.training.schedules import WarmupSchedule
from keras_transformer.training.trainer import Trainer

__all__ = [
    "AddNormalization",
    "Decoder",
    "DecoderLayer",
    "DotProductAttention",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "Hypothesis",
    "MaskedAccuracy",
    "MaskedCrossEntropy",
    "MultiHeadAttention",
    "PositionEmbeddingFixedWeights",
    "PositionEmbeddingLayer",
    "PrepareDataset",
    "PreparedDataset",
    "RunConfig",
    "RunFolder",
    "SearchOptions",
    "Trainer",
    "TransformerModel",
    "Translate",
    "WarmupSchedule",
    "WordTokenizer",
    "causal_mask",
    "combine_masks",
    "evaluate_run",
    "padding_mask",
    "plot_attention",
    "plot_losses",
    "read_pairs",
    "record_attention",
    "score",
    "sinusoidal_encoding",
    "train_run",
    "write_pairs",
]
