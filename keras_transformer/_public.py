"""The public names. `as` tells type checkers that they are public, as `__all__` does elsewhere."""

from keras_transformer._utils.special_tokens import (
    END_ID as END_ID,
    PADDING_ID as PADDING_ID,
    START_ID as START_ID,
    UNKNOWN_ID as UNKNOWN_ID,
)
from keras_transformer.data.dataset import (
    PrepareDataset as PrepareDataset,
    PreparedDataset as PreparedDataset,
)
from keras_transformer.data.documents import Document as Document
from keras_transformer.data.images import AugmentedImages as AugmentedImages
from keras_transformer.data.marian_tokenizer import MarianTokenizer as MarianTokenizer
from keras_transformer.data.next_words import (
    next_words as next_words,
    ngram_prefixes as ngram_prefixes,
)
from keras_transformer.data.pairs import read_pairs as read_pairs, write_pairs as write_pairs
from keras_transformer.data.pretraining import (
    PretrainingPairs as PretrainingPairs,
    read_documents as read_documents,
)
from keras_transformer.data.published_tokenizer import PublishedTokenizer as PublishedTokenizer
from keras_transformer.data.questions import answer_examples as answer_examples
from keras_transformer.data.tokenizers import WordTokenizer as WordTokenizer
from keras_transformer.data.wordpiece import WordPieceTokenizer as WordPieceTokenizer
from keras_transformer.evaluation import score as score
from keras_transformer.inference.generate import Generate as Generate
from keras_transformer.inference.options import SearchOptions as SearchOptions
from keras_transformer.inference.tasks import (
    Classify as Classify,
    FindAnswer as FindAnswer,
    Summarize as Summarize,
    read_bert as read_bert,
)
from keras_transformer.inference.translate import Hypothesis as Hypothesis, Translate as Translate
from keras_transformer.layers import *
from keras_transformer.masks import (
    causal_mask as causal_mask,
    combine_masks as combine_masks,
    padding_mask as padding_mask,
    window_mask as window_mask,
)
from keras_transformer.models import *
from keras_transformer.models.lora import (
    enable_lora as enable_lora,
    load_lora as load_lora,
    save_lora as save_lora,
)
from keras_transformer.objectives.losses import MaskedCrossEntropy as MaskedCrossEntropy
from keras_transformer.objectives.metrics import (
    MaskedAccuracy as MaskedAccuracy,
    Perplexity as Perplexity,
)
from keras_transformer.objectives.optimizer import Adam as Adam
from keras_transformer.objectives.schedules import (
    WarmupSchedule as WarmupSchedule,
    warmup_cosine as warmup_cosine,
)
from keras_transformer.pages.attention_page import (
    AttentionPage as AttentionPage,
    AttentionView as AttentionView,
    hypothesis_views as hypothesis_views,
    text_views as text_views,
    translation_views as translation_views,
    write_attention_page as write_attention_page,
)
from keras_transformer.plotting import *
from keras_transformer.runs.config import RunConfig as RunConfig
from keras_transformer.runs.folder import RunFolder as RunFolder, make_model as make_model
from keras_transformer.settings import BlockSettings as BlockSettings
from keras_transformer.training.fitting import as_dataset as as_dataset
from keras_transformer.training.run import evaluate_run as evaluate_run, train_run as train_run
from keras_transformer.training.trainer import Trainer as Trainer
