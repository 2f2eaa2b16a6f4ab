"""The models: translators, language models, BERT, classifiers, images and series."""

from keras_transformer.models.bert import Bert
from keras_transformer.models.bert_heads import AnsweringBert, PretrainingBert
from keras_transformer.models.classifier import EncoderClassifier
from keras_transformer.models.ensemble import Ensemble
from keras_transformer.models.forecaster import Forecaster
from keras_transformer.models.language_model import LSTMLanguageModel, TransformerLanguageModel
from keras_transformer.models.recurrent import RecurrentTranslator
from keras_transformer.models.transformer import TransformerModel
from keras_transformer.models.vit import VisionTransformer

__all__ = [
    "AnsweringBert",
    "Bert",
    "EncoderClassifier",
    "Ensemble",
    "Forecaster",
    "LSTMLanguageModel",
    "PretrainingBert",
    "RecurrentTranslator",
    "TransformerLanguageModel",
    "TransformerModel",
    "VisionTransformer",
]
