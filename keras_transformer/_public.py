"""Imports all public names."""

from keras_transformer.data.dataset import PrepareDataset, PreparedDataset
from keras_transformer.data.images import AugmentedImages
from keras_transformer.data.marian_tokenizer import MarianTokenizer
from keras_transformer.data.next_words import next_words, ngram_prefixes
from keras_transformer.data.pairs import read_pairs, write_pairs
from keras_transformer.data.pretraining import PretrainingPairs, read_documents
from keras_transformer.data.questions import answer_examples
from keras_transformer.data.tokenizers import WordTokenizer
from keras_transformer.data.wordpiece import WordPieceTokenizer
from keras_transformer.evaluation import score
from keras_transformer.inference.generate import Generate
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.tasks import Classify, FindAnswer, Summarize, read_bert
from keras_transformer.inference.translate import Hypothesis, Translate
from keras_transformer.layers import (
    AdditiveAttention,
    AddNormalization,
    BahdanauDecoder,
    Decoder,
    DecoderLayer,
    Dense,
    DotProductAttention,
    Dropout,
    Encoder,
    EncoderLayer,
    FeedForward,
    LayerNormalization,
    LuongAttention,
    LuongDecoder,
    MultiHeadAttention,
    PatchEmbedding,
    PositionEmbeddingFixedWeights,
    PositionEmbeddingLayer,
    SegmentEmbedding,
    SequenceAttention,
    record_attention,
    sinusoidal_encoding,
)
from keras_transformer.masks import causal_mask, combine_masks, padding_mask
from keras_transformer.models import (
    AnsweringBert,
    Bert,
    EncoderClassifier,
    Forecaster,
    LSTMLanguageModel,
    PretrainingBert,
    RecurrentTranslator,
    TransformerLanguageModel,
    TransformerModel,
    VisionTransformer,
)
from keras_transformer.objectives.losses import MaskedCrossEntropy
from keras_transformer.objectives.metrics import MaskedAccuracy, Perplexity
from keras_transformer.objectives.optimizer import Adam
from keras_transformer.objectives.schedules import WarmupSchedule, warmup_cosine
from keras_transformer.pages.attention_page import (
    AttentionPage,
    AttentionView,
    hypothesis_views,
    text_views,
    translation_views,
    write_attention_page,
)
from keras_transformer.plotting import (
    plot_alignments,
    plot_attention,
    plot_attention_weights,
    plot_layer,
    plot_losses,
    plot_masks,
    plot_patch_filters,
    plot_position_similarity,
    plot_positions,
    plot_schedules,
)
from keras_transformer.runs.config import RunConfig
from keras_transformer.runs.folder import RunFolder
from keras_transformer.settings import BlockSettings
from keras_transformer.training.fitting import as_dataset
from keras_transformer.training.run import evaluate_run, train_run
from keras_transformer.training.trainer import Trainer
