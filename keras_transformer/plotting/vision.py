"""Plots of the weights and the attention of a vision transformer."""

import math

import numpy as np
from keras import ops
from matplotlib.axes import Axes

from keras_transformer._utils.types import PathLike, Tensor
from keras_transformer.layers.record_attention import record_attention
from keras_transformer.models import VisionTransformer
from keras_transformer.plotting._figures import color, make_figure, save_figure


def plot_patch_filters(
    model: VisionTransformer, path: PathLike | None = None, count: int = 64
) -> np.ndarray:
    """Plots the filters of the patch embedding of a vision transformer, the largest norm first.

    Args:
        model: a built `VisionTransformer`.
        path: path of the image file to write, if any: .png, .svg or .pdf.
        count: maximum number of filters.

    Returns:
        The axes, an array (rows, columns) of the plot.

    References:
        "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), section 4.5 and figure 7, left.

    Example:
        model = keras.models.load_model("runs/vit/vit.keras")
        kt.plot_patch_filters(model, "filters.png")
    """
    kernel = ops.convert_to_numpy(model.embedding.projection.kernel)  # (P, P, C, D)
    filters = np.moveaxis(kernel, -1, 0)
    order = np.argsort(-np.linalg.norm(filters.reshape(len(filters), -1), axis=1))[:count]
    # Filters without exactly 3 channels are averaged over the channels and drawn in one color map.
    filters = filters if filters.shape[-1] == 3 else filters.mean(axis=-1, keepdims=True)
    largest = np.abs(filters).max() or 1.0
    columns = min(len(order), 8)
    rows = math.ceil(len(order) / columns)
    figure = make_figure(1 + 0.7 * columns, 0.6 + 0.7 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, i in zip(grid.flat, order, strict=False):
        pixels = filters[i] / largest
        if pixels.shape[-1] == 3:
            axes.imshow((pixels + 1) / 2)
        else:
            image = axes.imshow(pixels[..., 0], "RdBu", vmin=-1, vmax=1)
    if filters.shape[-1] == 1:
        figure.colorbar(image, ax=grid, label="weight / largest weight", fraction=0.03)
    figure.suptitle(f"patch filters, {len(order)} of {len(filters)}", fontsize=9)
    save_figure(figure, path)
    return grid


def plot_position_similarity(model: VisionTransformer, path: PathLike | None = None) -> np.ndarray:
    """Plots the cosine similarity of the learned position embeddings of all pairs of patches.

    Each panel shows the similarity of the patch at the panel's position to all patches.

    Args:
        model: a built `VisionTransformer`.
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The axes, an array (rows, columns) with one entry per patch.

    References:
        "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), section 4.5 and figure 7,
        center.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=1)
        >>> model = kt.VisionTransformer(8, patch_size=4, num_classes=10, settings=settings)
        >>> model.build((None, 8, 8, 3))
        >>> kt.plot_position_similarity(model).shape
        (2, 2)
    """
    rows, columns = model.embedding.grid
    positions = ops.convert_to_numpy(model.embedding.positions)[1:]  # without the class token
    positions = positions / np.linalg.norm(positions, axis=1, keepdims=True)
    similarity = (positions @ positions.T).reshape(rows, columns, rows, columns)
    figure = make_figure(1.5 + columns, 0.8 + rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for (row, column), axes in np.ndenumerate(grid):
        image = axes.imshow(similarity[row, column], "viridis", vmin=-1, vmax=1)
        axes.set(xticks=(), yticks=())
        axes.plot(column, row, "w.", markersize=3)
    for i, axes in enumerate(grid[:, 0]):
        axes.set_ylabel(i + 1, fontsize=8)
    for i, axes in enumerate(grid[-1]):
        axes.set_xlabel(i + 1, fontsize=8)
    figure.supxlabel("patch column", fontsize=9)
    figure.supylabel("patch row", fontsize=9)
    figure.colorbar(image, ax=grid, label="cosine similarity", fraction=0.03)
    save_figure(figure, path)
    return grid


def plot_attention_distance(
    model: VisionTransformer, images: Tensor, path: PathLike | None = None
) -> Axes:
    """Plots how far each head of a vision transformer looks, layer by layer.

    The distance of a head is the mean distance between the centers of two patches, weighted with
    the attention that the one pays to the other. The class token is left out.

    Args:
        model: a built `VisionTransformer`.
        images: the images to average over, floats (B, H, W, C).
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The axes. Point i of line n is the distance of head n in layer i, in pixels.

    References:
        "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), section 4.5 and figure 7, right.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=3)
        >>> model = kt.VisionTransformer(8, patch_size=4, num_classes=10, settings=settings)
        >>> axes = kt.plot_attention_distance(model, np.zeros((1, 8, 8, 3), "float32"))
        >>> len(axes.lines)  # two heads and the line of uniform attention
        3
    """
    with record_attention() as weights:
        model(images)
    distances = _patch_distances(model.embedding)
    layers = [weights[layer.self_attention.attention] for layer in model.encoder.layers]
    heads = np.transpose([_attention_distances(w, distances) for w in layers])  # (N, layers)
    axes = make_figure(6, 3.2).add_subplot()
    depth = np.arange(1, len(layers) + 1)
    for head in heads:
        axes.plot(depth, head, "o", color=color(0), alpha=0.7)
    uniform = distances.mean()
    axes.axhline(uniform, color="black", linestyle=":", label="all patches alike")
    axes.set(xlabel="layer", ylabel="mean distance (pixels)", xticks=depth)
    axes.set_ylim(0, 1.2 * max(uniform, heads.max()) or 1)
    axes.legend()
    save_figure(axes.figure, path)
    return axes


def _patch_distances(embedding):
    """Returns the distances between the centers of all patches, in pixels."""
    centers = embedding.patch_size * np.indices(embedding.grid).reshape(2, -1).T
    return np.linalg.norm(centers[:, None] - centers, axis=-1)


def _attention_distances(weights, distances):
    """Returns the mean distance of each head of a layer: weights (B, N, T, T) -> (N,)."""
    weights = ops.convert_to_numpy(weights).astype("float64")[:, :, 1:, 1:]
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return (weights * distances).sum(axis=-1).mean(axis=(0, 2))
