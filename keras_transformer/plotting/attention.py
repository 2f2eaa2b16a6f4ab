"""Pictures of who attends to whom, and who may."""

import numpy as np
from keras import ops

from keras_transformer.plotting._figures import make_figure, names, save

_MARGIN, _MOST_INCHES = 1.5, 60  # beside the pictures of attention, and in all


def plot_attention(hypothesis, path=None):
    """Draws what each head of each layer looked at in the source for each word.

    The picture has at most 9,000 pixels a side: of very long sentences not every word is named.

    Args:
        hypothesis: a `Hypothesis` with its attention.
        path: the picture to write, if any; its suffix says the format (.png, .svg, .pdf).

    Returns:
        The axes, an array (layers, heads).

    Raises:
        ValueError: if the hypothesis has no attention.
    """
    _check_attention(hypothesis)
    tokens = (hypothesis.tokens, hypothesis.source_tokens)
    return plot_attention_weights(
        hypothesis.attention["cross"], *tokens, path, ylabel="translation", xlabel="source"
    )


def plot_attention_weights(weights, queries, keys, path=None, ylabel="looking", xlabel="looked at"):
    """Draws the attention of each head of each layer.

    Args:
        weights: (layers, heads, T, S), each in [0, 1].
        queries: names of the T tokens that attend, one below the other.
        keys: names of the S tokens that are attended to, side by side.
        path: the picture to write, if any; its suffix says the format (.png, .svg, .pdf).
        ylabel, xlabel: what the queries and the keys are.

    Returns:
        The axes, an array (layers, heads).

    Raises:
        ValueError: if there are not as many names as weights.
    """
    weights = ops.convert_to_numpy(weights)
    if weights.ndim != 4 or weights.shape[2:] != (len(queries), len(keys)):
        raise ValueError(
            "Give weights of (layers, heads, T, S) with T and S names. "
            f"Received: {weights.shape}, {len(queries)} and {len(keys)} names"
        )
    layers, heads, length, source_length = weights.shape
    width, column = _room(heads, source_length, 1.4)
    height, row = _room(layers, length, 1.2)
    figure = make_figure(width, height)
    grid = figure.subplots(layers, heads, squeeze=False)
    title_size = min(max(8, 2 * source_length * column), 24)
    for (layer, head), axes in np.ndenumerate(grid):
        picture = axes.imshow(weights[layer, head], "Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=title_size)
        axes.set(xticks=(), yticks=())
    for axes in grid[:, 0]:
        axes.set_yticks(**names(queries, row))
    for axes in grid[-1]:
        axes.set_xticks(**names(keys, column), rotation=90)
    figure.supxlabel(xlabel, fontsize=title_size)
    figure.supylabel(ylabel, fontsize=title_size)
    bar = {"fraction": 0.15 / width, "pad": 0.1 / width, "aspect": 30}
    figure.colorbar(picture, ax=grid, label="attention", **bar)
    save(figure, path)
    return grid


def plot_alignments(hypotheses, path=None):
    """Draws which words each translation belongs to: the mean attention of layers and heads.

    Args:
        hypotheses: dictionary from a name to a `Hypothesis` with its attention.
        path: the picture to write, if any; its suffix says the format (.png, .svg, .pdf).

    Returns:
        The axes, an array with one of them for each hypothesis.

    Raises:
        ValueError: if there is no hypothesis, or one has no attention.
    """
    if not hypotheses:
        raise ValueError(f"There is nothing to draw. Received: {hypotheses}")
    for hypothesis in hypotheses.values():
        _check_attention(hypothesis)
    shapes = [(len(x.tokens), len(x.source_tokens)) for x in hypotheses.values()]
    length, source_length = (min(max(sizes), 200) for sizes in zip(*shapes, strict=True))
    inches = max(2.4, 0.26 * source_length)
    figure = make_figure(1 + (inches + 1) * len(shapes), 1.6 + max(2.0, 0.26 * length))
    grid = figure.subplots(1, len(shapes), squeeze=False)[0]
    for axes, (name, hypothesis) in zip(grid, hypotheses.items(), strict=True):
        weights = np.mean(hypothesis.attention["cross"], axis=(0, 1))
        picture = axes.imshow(weights, "Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_title(name)
        axes.set_yticks(**names(hypothesis.tokens, 0.26))
        axes.set_xticks(**names(hypothesis.source_tokens, 0.26), rotation=90)
    figure.colorbar(picture, ax=grid, label="attention", fraction=0.03)
    save(figure, path)
    return grid


def plot_masks(masks, tokens=None, path=None):
    """Draws who may attend to whom.

    Args:
        masks: dictionary from a name to a boolean mask (T, S), True = may attend; sizes of 1 before
            these are left out.
        tokens: names of the positions; None: their numbers.
        path: the picture to write, if any; its suffix says the format (.png, .svg, .pdf).

    Returns:
        The axes, an array with one of them for each mask.

    Raises:
        ValueError: if there is no mask, or one is not a matrix.
    """
    arrays = {name: ops.convert_to_numpy(mask) for name, mask in masks.items()}
    arrays = {name: x.reshape(x.shape[-2:]) if x.ndim > 1 else x for name, x in arrays.items()}
    if not arrays or any(mask.ndim != 2 for mask in arrays.values()):
        raise ValueError(f"Give at least one mask of (T, S). Received: {masks}")
    longest = max(max(mask.shape) for mask in arrays.values())
    inches = min(max(2.2, 0.3 * longest), 12)
    figure = make_figure(0.8 + (inches + 0.4) * len(arrays), inches + 1.5)
    grid = figure.subplots(1, len(arrays), squeeze=False)[0]
    for axes, (name, mask) in zip(grid, arrays.items(), strict=True):
        axes.pcolormesh(mask[::-1], cmap="Blues", vmin=0, vmax=1.4, edgecolors="lightgrey")
        axes.set(title=name, xlabel="key", aspect="equal")
        for axis, size in ((axes.xaxis, mask.shape[1]), (axes.yaxis, mask.shape[0])):
            ticks = names(tokens or range(size), inches / longest)
            centres = [place + 0.5 for place in ticks["ticks"] if place < size]
            if axis is axes.yaxis:
                centres = [size - centre for centre in centres]
            labels = ticks["labels"][: len(centres)]
            axis.set_ticks(centres, labels, fontsize=ticks["fontsize"])
        if tokens:
            axes.tick_params("x", rotation=90)
    grid[0].set_ylabel("query")
    figure.supxlabel("dark: may attend", fontsize=8)
    save(figure, path)
    return grid


def _check_attention(hypothesis):
    if hypothesis.attention is None:
        empty = len(hypothesis.source_tokens) == 1  # the end
        todo = "the sentence has no words" if empty else "translate with `return_attention=True`"
        raise ValueError(f"There is no attention to draw: {todo}. Received: {hypothesis.text!r}")


def _room(pictures, tokens, least):
    """Inches for so many pictures in a row, each at least so long, and for each of their tokens."""
    inches = min(_MARGIN + pictures * max(least, 0.2 * tokens), _MOST_INCHES)
    return inches, (inches - _MARGIN) / pictures / tokens
