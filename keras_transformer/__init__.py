"""The Transformer as Keras 3 layers, with training, translation and plotting.

Public names, and Keras itself, are imported when the first of them is used. A program can therefore
parse its arguments and configure its process first.
"""

import importlib.metadata
import importlib.util
import sys
from typing import TYPE_CHECKING

__version__ = "0.3.0"

__all__ = [
    "Adam",
    "AddNormalization",
    "AdditiveAttention",
    "AnsweringBert",
    "AttentionPage",
    "AttentionView",
    "AugmentedImages",
    "BahdanauDecoder",
    "Bert",
    "BlockSettings",
    "Classify",
    "Decoder",
    "DecoderLayer",
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
    "make_model",
    "next_words",
    "ngram_prefixes",
    "padding_mask",
    "plot_alignments",
    "plot_attention",
    "plot_attention_distance",
    "plot_attention_weights",
    "plot_forecast",
    "plot_layer",
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
    "rotary_embedding",
    "score",
    "sinusoidal_encoding",
    "store_attention",
    "text_views",
    "train_run",
    "translation_views",
    "warmup_cosine",
    "write_attention_page",
    "write_pairs",
]

# Names of courses, and what to write instead.
_OTHER_NAMES = {
    "LRScheduler": "WarmupSchedule(d_model, warmup_steps=4000)",
    "loss_fcn": "MaskedCrossEntropy()",
    "accuracy_fcn": "MaskedAccuracy()",
    "lookahead_mask": "causal_mask(length)",
}

_DISTRIBUTION = "keras3-transformer"  # the distribution name of this package
_BACKENDS = ("tensorflow", "jax", "torch")


def _check_installation():
    """Raises an ImportError if no backend, or a package of the same name, is installed."""
    try:
        other = importlib.metadata.version("keras-transformer")
    except importlib.metadata.PackageNotFoundError:
        pass
    else:
        raise ImportError(
            "Another package with the same import name is installed: keras-transformer "
            f"{other}. Run: pip uninstall keras-transformer {_DISTRIBUTION}, then: "
            f"pip install {_DISTRIBUTION}"
        )
    if not any(map(importlib.util.find_spec, _BACKENDS)):
        raise ImportError(
            f"Keras needs a backend. Run: pip install '{_DISTRIBUTION}[tensorflow]'. Or install "
            "[jax] instead and set KERAS_BACKEND=jax."
        )


_check_installation()

# Keras can load a saved file only if the classes in it are registered, which importing them does.
# Once Keras is imported, importing them early costs little.
if TYPE_CHECKING or "keras" in sys.modules:
    from keras_transformer._public import *

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in __all__:
            instead = _OTHER_NAMES.get(name)
            hint = "" if instead is None else f": write kt.{instead}, see docs/from-the-course.md"
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        try:
            from keras_transformer import _public
        except ModuleNotFoundError as error:
            if error.name not in _BACKENDS:
                raise
            raise ImportError(
                f"The Keras backend {error.name} is not installed. Set KERAS_BACKEND to an "
                f"installed backend, or run: pip install '{_DISTRIBUTION}[{error.name}]'"
            ) from error
        globals().update({public: getattr(_public, public) for public in __all__})
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *__all__})
