"""Pictures."""

import math

import numpy as np
from keras import ops
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from keras_transformer.files import replacing

_MARGIN, _MOST_INCHES = 1.5, 60  # beside the pictures of attention, and in all


def plot_losses(histories, path):
    """Draws losses, accuracies and learning rates over the epochs.

    Args:
        histories: dictionary from the name of a run to its history, as `RunFolder.read_history`
            returns it.
        path: the picture to write; its suffix says the format (.png, .svg, .pdf).

    Raises:
        ValueError: if there is no run, or a history is empty.
    """
    if not histories or not all(histories.values()):
        raise ValueError(f"There is nothing to draw. Received: {histories}")
    figure = Figure(figsize=(8, 7), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(5, 3))
    loss_axes = figure.add_subplot(grid[0, :])
    accuracy_axes = figure.add_subplot(grid[1, 0])
    rate_axes = figure.add_subplot(grid[1, 1])
    for i, (name, history) in enumerate(histories.items()):
        label = "" if len(histories) == 1 else f"{name}: "
        _plot_losses(loss_axes, history, f"C{i}", label)
        _plot_pair(accuracy_axes, history, "accuracy", f"C{i}")
        rates = _column(history, "learning_rate")
        rate_axes.plot(_column(history, "epoch"), rates, f"C{i}.-")
    loss_axes.set_title(next(iter(histories)) if len(histories) == 1 else "Losses of the runs")
    _finish_axes(loss_axes, "cross entropy (nats per token)")
    _finish_axes(accuracy_axes, "token accuracy")
    _finish_axes(rate_axes, "learning rate")
    rate_axes.ticklabel_format(axis="y", scilimits=(0, 0))
    loss_axes.legend()
    with replacing(path) as beside:
        figure.savefig(beside, dpi=150)


def plot_attention(hypothesis, path):
    """Draws what each head of each layer looked at in the source for each word.

    The picture has at most 9,000 pixels a side: of very long sentences not every word is named.

    Args:
        hypothesis: a `Hypothesis` with its attention.
        path: the picture to write; its suffix says the format (.png, .svg, .pdf).

    Raises:
        ValueError: if the hypothesis has no attention.
    """
    if hypothesis.attention is None:
        empty = len(hypothesis.source_tokens) == 1  # the end
        todo = "the sentence has no words" if empty else "translate with `return_attention=True`"
        raise ValueError(f"There is no attention to draw: {todo}. Received: {hypothesis.text!r}")
    weights = hypothesis.attention["cross"]  # (layers, heads, T, S)
    layers, heads, length, source_length = weights.shape
    width, column = _room(heads, source_length, 1.4)
    height, row = _room(layers, length, 1.2)
    figure = Figure(figsize=(width, height), layout="constrained")
    grid = figure.subplots(layers, heads, squeeze=False)
    title_size = min(max(8, 2 * source_length * column), 24)
    for layer, pictures in enumerate(grid):
        for head, axes in enumerate(pictures):
            picture = axes.imshow(weights[layer, head], "Blues", vmin=0, vmax=1, aspect="auto")
            axes.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=title_size)
            axes.set(xticks=(), yticks=())
    for axes in grid[:, 0]:
        axes.set_yticks(**_names(hypothesis.tokens, row))
    for axes in grid[-1]:
        axes.set_xticks(**_names(hypothesis.source_tokens, column), rotation=90)
    figure.supxlabel("source", fontsize=title_size)
    figure.supylabel("translation", fontsize=title_size)
    bar = {"fraction": 0.15 / width, "pad": 0.1 / width, "aspect": 30}
    figure.colorbar(picture, ax=grid, label="attention", **bar)
    with replacing(path) as beside:
        figure.savefig(beside, dpi=150)


def _room(pictures, tokens, least):
    """Inches for so many pictures in a row, each at least so long, and for each of their tokens."""
    inches = min(_MARGIN + pictures * max(least, 0.2 * tokens), _MOST_INCHES)
    return inches, (inches - _MARGIN) / pictures / tokens


def _names(tokens, inches):
    """The names of tokens that have so many inches each: as many as can be read."""
    places = range(0, len(tokens), math.ceil(0.1 / inches))
    labels = [tokens[i].removeprefix("▁") for i in places]
    return {"ticks": places, "labels": labels, "fontsize": min(max(5, 40 * inches), 8)}


def _plot_losses(axes, history, color, label):
    best = min(history, key=lambda row: row["validation_loss"])
    text = f"best {best['validation_loss']:.2f} in epoch {best['epoch']:.0f}"
    _plot_pair(axes, history, "loss", color, f"{label}training", f"{label}validation, {text}")
    mark = {"marker": "o", "markersize": 10, "fillstyle": "none"}
    axes.plot(best["epoch"], best["validation_loss"], color, **mark)


def _plot_pair(axes, history, name, color, training_label=None, validation_label=None):
    epochs = _column(history, "epoch")
    axes.plot(epochs, _column(history, name), f"{color}--", label=training_label)
    validation = _column(history, f"validation_{name}")
    axes.plot(epochs, validation, f"{color}.-", label=validation_label)


def _finish_axes(axes, label):
    axes.set_xlabel("epoch")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)


def _column(history, name):
    return [row[name] for row in history]


def plot_patch_filters(model, path, count=64):
    """Draws the filters that a vision transformer reads its patches with, the strongest first.

    Args:
        model: a built `VisionTransformer`.
        path: the picture to write; its suffix says the format (.png, .svg, .pdf).
        count: number of filters at most.

    References:
        "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), section 4.5 and figure 7, left.
    """
    kernel = ops.convert_to_numpy(model.embedding.projection.kernel)  # (P, P, C, D)
    filters = np.moveaxis(kernel, -1, 0)
    order = np.argsort(-np.linalg.norm(filters.reshape(len(filters), -1), axis=1))[:count]
    # Of images that are neither grey nor colour the mean over the channels is drawn.
    filters = filters if filters.shape[-1] == 3 else filters.mean(axis=-1, keepdims=True)
    largest = np.abs(filters).max() or 1.0
    columns = min(len(order), 8)
    rows = math.ceil(len(order) / columns)
    figure = Figure(figsize=(1 + 0.7 * columns, 0.6 + 0.7 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, i in zip(grid.flat, order, strict=False):
        picture = filters[i] / largest
        if picture.shape[-1] == 3:
            axes.imshow((picture + 1) / 2)
        else:
            grey = axes.imshow(picture[..., 0], "RdBu", vmin=-1, vmax=1)
    if filters.shape[-1] == 1:
        figure.colorbar(grey, ax=grid, label="weight, the largest = 1", fraction=0.03)
    figure.suptitle(f"patch filters, {len(order)} of {len(filters)}", fontsize=9)
    with replacing(path) as beside:
        figure.savefig(beside, dpi=150)


def plot_position_similarity(model, path):
    """Draws how similar the learned position of each patch is to those of all patches.

    Each small picture belongs to the patch at its place; similar means: a small angle.

    Args:
        model: a built `VisionTransformer`.
        path: the picture to write; its suffix says the format (.png, .svg, .pdf).

    References:
        "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), section 4.5 and figure 7,
        centre.
    """
    rows, columns = model.embedding.grid
    positions = ops.convert_to_numpy(model.embedding.positions)[1:]  # without the class token's
    positions = positions / np.linalg.norm(positions, axis=1, keepdims=True)
    similarity = (positions @ positions.T).reshape(rows, columns, rows, columns)
    figure = Figure(figsize=(1.5 + columns, 0.8 + rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for (row, column), axes in np.ndenumerate(grid):
        picture = axes.imshow(similarity[row, column], "viridis", vmin=-1, vmax=1)
        axes.set_xticks([], [])
        axes.set_yticks([], [])
        axes.plot(column, row, "w.", markersize=3)
    for i, axes in enumerate(grid[:, 0]):
        axes.set_ylabel(i + 1, fontsize=8)
    for i, axes in enumerate(grid[-1]):
        axes.set_xlabel(i + 1, fontsize=8)
    figure.supxlabel("column of the patch", fontsize=9)
    figure.supylabel("row of the patch", fontsize=9)
    figure.colorbar(picture, ax=grid, label="cosine similarity", fraction=0.03)
    with replacing(path) as beside:
        figure.savefig(beside, dpi=150)
