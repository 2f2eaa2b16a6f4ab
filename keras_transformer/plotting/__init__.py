"""Plots with Matplotlib.

Each function returns the axes, and writes an image file if it is given a path.
"""

from keras_transformer.plotting.architecture import draw
from keras_transformer.plotting.attention import (
    plot_alignments,
    plot_attention,
    plot_attention_weights,
    plot_masks,
)
from keras_transformer.plotting.embeddings import plot_positions
from keras_transformer.plotting.layers import plot_layer
from keras_transformer.plotting.sentence import draw_sentence
from keras_transformer.plotting.series import plot_forecast
from keras_transformer.plotting.training import plot_losses, plot_schedules
from keras_transformer.plotting.vision import (
    plot_attention_distance,
    plot_patch_filters,
    plot_position_similarity,
)

__all__ = [
    "draw",
    "draw_sentence",
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
]
