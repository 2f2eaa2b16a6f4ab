"""Pictures. Each function returns the Matplotlib axes it drew on, and writes a file if asked to."""

from keras_transformer.plotting.attention import (
    plot_alignments,
    plot_attention,
    plot_attention_weights,
    plot_masks,
)
from keras_transformer.plotting.embeddings import plot_positions
from keras_transformer.plotting.training import plot_losses, plot_schedules
from keras_transformer.plotting.vision import plot_patch_filters, plot_position_similarity

__all__ = [
    "plot_alignments",
    "plot_attention",
    "plot_attention_weights",
    "plot_losses",
    "plot_masks",
    "plot_patch_filters",
    "plot_position_similarity",
    "plot_positions",
    "plot_schedules",
]
