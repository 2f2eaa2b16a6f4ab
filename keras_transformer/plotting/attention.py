"""Plots of attention weights and attention masks."""

from typing import Any

import numpy as np
from keras import ops

from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import PathLike, Tensor
from keras_transformer.plotting._figures import make_figure, save_figure, token_ticks

_MARGIN, _MAX_INCHES = 1.5, 60  # of a figure with attention weights


def plot_attention(hypothesis: Any, path: PathLike | None = None) -> np.ndarray:
    """Plots the cross-attention weights of each head of each decoder layer for a translation.

    The image has at most 9,000 pixels a side, so not every token of a very long sentence is
    labeled.

    Args:
        hypothesis: a `Hypothesis` with attention weights.
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The axes, an array (layers, heads).

    Raises:
        ValueError: if the hypothesis has no attention weights.

    Example:
        hypotheses = translate.hypotheses("Good morning!", return_attention=True)[0]
        kt.plot_attention(hypotheses[0], "attention.png")
    """
    _check_attention(hypothesis)
    tokens = (hypothesis.tokens, hypothesis.source_tokens)
    return plot_attention_weights(
        hypothesis.attention["cross"],
        *tokens,
        path,
        ylabel="word being written",
        xlabel="word of the source",
    )


def plot_attention_weights(
    weights: Tensor,
    queries: list[str],
    keys: list[str],
    path: PathLike | None = None,
    ylabel: str = "query",
    xlabel: str = "key",
) -> np.ndarray:
    """Plots the attention weights of each head of each layer as heat maps.

    Args:
        weights: attention weights in [0, 1], (layers, heads, T, S).
        queries: names of the T query tokens, from top to bottom.
        keys: names of the S key tokens, from left to right.
        path: path of the image file to write, if any: .png, .svg or .pdf.
        ylabel, xlabel: labels of the axes.

    Returns:
        The axes, an array (layers, heads).

    Raises:
        ValueError: if the shape of the weights does not match the names.

    Example:
        >>> weights = np.full((2, 4, 3, 3), 1 / 3, "float32")  # 2 layers, 4 heads
        >>> tokens = ["a", "cat", "sat"]
        >>> kt.plot_attention_weights(weights, tokens, tokens).shape
        (2, 4)
    """
    weights = ops.convert_to_numpy(weights)
    if weights.ndim != 4 or weights.shape[2:] != (len(queries), len(keys)):
        raise ValueError(
            "Give weights of shape (layers, heads, T, S) with T and S names. "
            f"Received: {weights.shape}, {len(queries)} and {len(keys)} names"
        )
    layers, heads, length, source_length = weights.shape
    width, column = _figure_size(heads, source_length, 1.4)
    height, row = _figure_size(layers, length, 1.2)
    figure = make_figure(width, height)
    grid = figure.subplots(layers, heads, squeeze=False)
    title_size = min(max(8, 2 * source_length * column), 24)
    for (layer, head), axes in np.ndenumerate(grid):
        image = axes.imshow(weights[layer, head], "Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=title_size)
        axes.set(xticks=(), yticks=())
    for axes in grid[:, 0]:
        axes.set_yticks(**token_ticks(queries, row))
    for axes in grid[-1]:
        axes.set_xticks(**token_ticks(keys, column), rotation=90)
    figure.supxlabel(xlabel, fontsize=title_size)
    figure.supylabel(ylabel, fontsize=title_size)
    bar = {"fraction": 0.15 / width, "pad": 0.1 / width, "aspect": 30}
    figure.colorbar(image, ax=grid, label="attention weight", **bar)
    save_figure(figure, path)
    return grid


def plot_alignments(hypotheses: dict[str, Any], path: PathLike | None = None) -> np.ndarray:
    """Plots the cross-attention weights of translations, averaged over layers and heads.

    Args:
        hypotheses: dictionary from a title to a `Hypothesis` with attention weights.
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The axes, an array with one entry per hypothesis.

    Raises:
        ValueError: if there is no hypothesis, or one has no attention weights.

    Example:
        hypotheses = translate.hypotheses("Good morning!", return_attention=True)[0]
        kt.plot_alignments({"Transformer": hypotheses[0]}, "alignments.png")
    """
    if not hypotheses:
        raise ValueError(f"There is nothing to plot: give a hypothesis. Received: {hypotheses}")
    for hypothesis in hypotheses.values():
        _check_attention(hypothesis)
    shapes = [(len(x.tokens), len(x.source_tokens)) for x in hypotheses.values()]
    length, source_length = (min(max(sizes), 200) for sizes in zip(*shapes, strict=True))
    inches = max(2.4, 0.26 * source_length)
    figure = make_figure(1 + (inches + 1) * len(shapes), 1.6 + max(2.0, 0.26 * length))
    grid = figure.subplots(1, len(shapes), squeeze=False)[0]
    for axes, (name, hypothesis) in zip(grid, hypotheses.items(), strict=True):
        weights = np.mean(hypothesis.attention["cross"], axis=(0, 1))
        image = axes.imshow(weights, "Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_title(name)
        axes.set_yticks(**token_ticks(hypothesis.tokens, 0.26))
        axes.set_xticks(**token_ticks(hypothesis.source_tokens, 0.26), rotation=90)
    figure.colorbar(image, ax=grid, label="attention weight", fraction=0.03)
    save_figure(figure, path)
    return grid


def plot_masks(
    masks: dict[str, Tensor], tokens: list[str] | None = None, path: PathLike | None = None
) -> np.ndarray:
    """Plots attention masks.

    Args:
        masks: dictionary from a title to a boolean mask, (T, S), True = may attend. Leading axes of
            size 1 are allowed.
        tokens: names of the positions, or None to number them.
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The axes, an array with one entry per mask.

    Raises:
        ValueError: if there is no mask, or one is not a matrix.

    Example:
        >>> masks = {"causal": kt.causal_mask(3), "padding": kt.padding_mask(np.array([[5, 7, 0]]))}
        >>> [axes.get_title() for axes in kt.plot_masks(masks)]
        ['causal', 'padding']
    """
    arrays = {name: ops.convert_to_numpy(mask) for name, mask in masks.items()}
    if not arrays or any(x.ndim < 2 or np.prod(x.shape[:-2]) != 1 for x in arrays.values()):
        raise ValueError(f"Give at least one mask of shape (T, S). Received: {masks}")
    arrays = {name: x.reshape(x.shape[-2:]) for name, x in arrays.items()}
    longest = max(max(mask.shape) for mask in arrays.values())
    inches = min(max(2.2, 0.3 * longest), 12)
    figure = make_figure(0.8 + (inches + 0.4) * len(arrays), inches + 1.5)
    grid = figure.subplots(1, len(arrays), squeeze=False)[0]
    for axes, (name, mask) in zip(grid, arrays.items(), strict=True):
        axes.pcolormesh(mask[::-1], cmap="Blues", vmin=0, vmax=1.4, edgecolors="lightgrey")
        axes.set(title=name, xlabel="key", aspect="equal")
        for axis, size in ((axes.xaxis, mask.shape[1]), (axes.yaxis, mask.shape[0])):
            ticks = token_ticks(tokens or range(size), inches / longest)
            centers = [position + 0.5 for position in ticks["ticks"] if position < size]
            if axis is axes.yaxis:
                centers = [size - center for center in centers]
            labels = ticks["labels"][: len(centers)]
            axis.set_ticks(centers, labels, fontsize=ticks["fontsize"])
        if tokens:
            axes.tick_params("x", rotation=90)
    grid[0].set_ylabel("query")
    figure.supxlabel("dark: may attend", fontsize=8)
    save_figure(figure, path)
    return grid


def _check_attention(hypothesis):
    if hypothesis.attention is None:
        empty = len(hypothesis.source_tokens) == 1  # the end token
        reason = "the sentence has no words" if empty else "translate with `return_attention=True`"
        raise ValueError(
            f"There are no attention weights to plot: {reason}. Received: "
            f"{excerpt(hypothesis.text)}"
        )
    if "cross" not in hypothesis.attention:
        raise ValueError(
            "The cross-attention of this model stores no weights to plot: pass them to "
            f"`kt.store_attention` in its `call`. Received: weights of {list(hypothesis.attention)}"
        )


def _figure_size(panels, tokens, min_inches):
    """Computes one side of a figure.

    Args:
        panels: number of panels along the side.
        tokens: number of tokens per panel.
        min_inches: minimum size of a panel.

    Returns:
        The size of the figure and the space per token, in inches.
    """
    inches = min(_MARGIN + panels * max(min_inches, 0.2 * tokens), _MAX_INCHES)
    return inches, (inches - _MARGIN) / panels / tokens
