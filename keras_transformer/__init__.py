"""The Transformer as Keras 3 layers: train, plot, translate.

The public names are loaded when the first of them is used, and Keras with them. A program can thus
read its arguments and set up its process before.
"""

import importlib.metadata
import importlib.util
import sys
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = [
    "Adam",
    "AddNormalization",
    "AdditiveAttention",
    "AnsweringBert",
    "AttentionView",
    "AugmentedImages",
    "BahdanauDecoder",
    "Bert",
    "BlockSettings",
    "Classify",
    "Decoder",
    "DecoderLayer",
    "Dense",
    "DotProductAttention",
    "Dropout",
    "Encoder",
    "EncoderClassifier",
    "EncoderLayer",
    "FeedForward",
    "FindAnswer",
    "Forecaster",
    "Generate",
    "Hypothesis",
    "LSTMLanguageModel",
    "LayerNormalization",
    "LuongAttention",
    "LuongDecoder",
    "MarianTokenizer",
    "MaskedAccuracy",
    "MaskedCrossEntropy",
    "MultiHeadAttention",
    "PatchEmbedding",
    "Perplexity",
    "PositionEmbeddingFixedWeights",
    "PositionEmbeddingLayer",
    "PrepareDataset",
    "PreparedDataset",
    "PretrainingBert",
    "PretrainingPairs",
    "RecurrentTranslator",
    "RunConfig",
    "RunFolder",
    "SearchOptions",
    "SegmentEmbedding",
    "SequenceAttention",
    "Summarize",
    "Trainer",
    "TransformerLanguageModel",
    "TransformerModel",
    "Translate",
    "VisionTransformer",
    "WarmupSchedule",
    "WordPieceTokenizer",
    "WordTokenizer",
    "answer_examples",
    "as_dataset",
    "causal_mask",
    "combine_masks",
    "evaluate_run",
    "hypothesis_views",
    "next_words",
    "ngram_prefixes",
    "padding_mask",
    "plot_alignments",
    "plot_attention",
    "plot_attention_weights",
    "plot_losses",
    "plot_masks",
    "plot_patch_filters",
    "plot_position_similarity",
    "plot_positions",
    "plot_schedules",
    "read_bert",
    "read_documents",
    "read_pairs",
    "record_attention",
    "score",
    "sinusoidal_encoding",
    "text_views",
    "train_run",
    "translation_views",
    "warmup_cosine",
    "write_attention_page",
    "write_pairs",
]

_DISTRIBUTION = "keras3-transformer"  # of this package
_BACKENDS = ("tensorflow", "jax", "torch")


def _check_installation():
    """Raises an ImportError if there is no backend, or another package of this name."""
    try:
        other = importlib.metadata.version("keras-transformer")
    except importlib.metadata.PackageNotFoundError:
        pass
    else:
        raise ImportError(
            f"keras-transformer {other} has the same import name, and their files would be mixed: "
            f"pip uninstall keras-transformer {_DISTRIBUTION}, then pip install {_DISTRIBUTION}"
        )
    if not any(map(importlib.util.find_spec, _BACKENDS)):
        raise ImportError(
            f"Keras needs a backend: pip install '{_DISTRIBUTION}[tensorflow]', or [jax] and set "
            "KERAS_BACKEND=jax"
        )


_check_installation()

# Keras finds our classes in a saved file if they are loaded. Keras itself is no longer to be
# waited for once it is imported.
if TYPE_CHECKING or "keras" in sys.modules:
    from keras_transformer._public import *
else:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from keras_transformer import _public
        except ModuleNotFoundError as error:
            if error.name not in _BACKENDS:
                raise
            raise ImportError(
                f"Keras is set to the backend {error.name}, which is not installed: set "
                f"KERAS_BACKEND to one that is, or pip install '{_DISTRIBUTION}[{error.name}]'"
            ) from error
        globals().update({public: getattr(_public, public) for public in __all__})
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *__all__})
