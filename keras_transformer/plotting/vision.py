"""Pictures of what a vision transformer has learned."""

import math

import numpy as np
from keras import ops

from keras_transformer.plotting._figures import make_figure, save


def plot_patch_filters(model, path=None, count=64):
    """Draws the filters that a vision transformer reads its patches with, the strongest first.

    Args:
        model: a built `VisionTransformer`.
        path: the picture to write, if any; its suffix says the format (.png, .svg, .pdf).
        count: number of filters at most.

    Returns:
        The axes, an array (rows, columns).

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
    figure = make_figure(1 + 0.7 * columns, 0.6 + 0.7 * rows)
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
    save(figure, path)
    return grid


def plot_position_similarity(model, path=None):
    """Draws how similar the learned position of each patch is to those of all patches.

    Each small picture belongs to the patch at its place; similar means: a small angle.

    Args:
        model: a built `VisionTransformer`.
        path: the picture to write, if any; its suffix says the format (.png, .svg, .pdf).

    Returns:
        The axes, an array with one of them for each patch.

    References:
        "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), section 4.5 and figure 7,
        centre.
    """
    rows, columns = model.embedding.grid
    positions = ops.convert_to_numpy(model.embedding.positions)[1:]  # without the class token's
    positions = positions / np.linalg.norm(positions, axis=1, keepdims=True)
    similarity = (positions @ positions.T).reshape(rows, columns, rows, columns)
    figure = make_figure(1.5 + columns, 0.8 + rows)
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
    save(figure, path)
    return grid
