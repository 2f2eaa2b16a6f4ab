"""Pictures of the vectors that a transformer begins with."""

import numpy as np
from keras import ops

from keras_transformer.plotting._figures import color, make_figure, save


def plot_positions(encoding, path=None):
    """Draws the vectors of positions, as a heat map and some of their entries as waves.

    Args:
        encoding: (T, D), for instance `sinusoidal_encoding(T, D)`.
        path: the picture to write, if any; its suffix says the format (.png, .svg, .pdf).

    Returns:
        The axes of the heat map and of the waves.

    Raises:
        ValueError: if `encoding` is not a matrix.
    """
    encoding = _matrix(encoding)
    figure = make_figure(9, 4)
    left, right = figure.subplots(1, 2)
    most = np.abs(encoding).max() or 1.0
    picture = left.imshow(
        encoding, "RdBu", vmin=-most, vmax=most, aspect="auto", interpolation="nearest"
    )
    left.set(xlabel="entry of the vector", ylabel="position")
    figure.colorbar(picture, ax=left, label="value")
    # The first entries turn fastest; those of the second half would be hardly anything but lines.
    entries = np.unique(np.linspace(0, encoding.shape[1] // 2, 5).astype(int))
    for i, entry in enumerate(entries):
        right.plot(encoding[:, entry] / most - 2.4 * i, color=color(i), linewidth=1)
    right.set_yticks(-2.4 * np.arange(len(entries)), [f"entry {entry}" for entry in entries])
    right.set(xlabel="position", xlim=(0, max(1, len(encoding) - 1)))
    right.grid(axis="x", alpha=0.3)
    save(figure, path)
    return left, right


def _matrix(x):
    x = ops.convert_to_numpy(ops.cast(x, "float32"))
    if x.ndim != 2 or not x.size:
        raise ValueError(f"Give a matrix with a vector in each row. Received: shape {x.shape}")
    return x
