"""Whole models, assembled from the layers."""

from keras_transformer.models.transformer import TransformerModel

__all__ = ["TransformerModel"]
