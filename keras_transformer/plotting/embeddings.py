"""Plots of position encodings."""

import numpy as np
from keras import ops
from matplotlib.axes import Axes

from keras_transformer._utils.types import PathLike, Tensor
from keras_transformer.plotting._figures import color, make_figure, save_figure


def plot_positions(encoding: Tensor, path: PathLike | None = None) -> tuple[Axes, Axes]:
    """Plots a position encoding, as a heat map and as curves of some of its dimensions.

    Args:
        encoding: floats, (T, D), such as `sinusoidal_encoding(T, D)`.
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The axes of the heat map and those of the curves.

    Raises:
        ValueError: if `encoding` is not a matrix.

    Example:
        >>> heat_map, curves = kt.plot_positions(kt.sinusoidal_encoding(50, 32))
        >>> curves.get_xlabel(), len(curves.lines)
        ('position', 5)
    """
    encoding = ops.convert_to_numpy(ops.cast(encoding, "float32"))
    if encoding.ndim != 2 or not encoding.size:
        raise ValueError(f"Give a matrix with one vector per row. Received: shape {encoding.shape}")
    figure = make_figure(9, 4)
    left, right = figure.subplots(1, 2)
    largest = np.abs(encoding).max() or 1.0
    image = left.imshow(
        encoding, "RdBu", vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest"
    )
    left.set(xlabel="dimension", ylabel="position")
    figure.colorbar(image, ax=left, label="value")
    # Only the first half: the later dimensions of sinusoids look flat, as they oscillate slowly.
    dimensions = np.unique(np.linspace(0, encoding.shape[1] // 2, 5).astype(int))
    for i, dimension in enumerate(dimensions):
        right.plot(encoding[:, dimension] / largest - 2.4 * i, color=color(i), linewidth=1)
    labels = [f"dimension {dimension}" for dimension in dimensions]
    right.set_yticks(-2.4 * np.arange(len(dimensions)), labels)
    right.set(xlabel="position", xlim=(0, max(1, len(encoding) - 1)))
    right.grid(axis="x", alpha=0.3)
    save_figure(figure, path)
    return left, right
