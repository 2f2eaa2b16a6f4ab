"""Pictures of the vectors that a transformer begins with."""

import numpy as np
from keras import ops

from keras_transformer.plotting._figures import color, make_figure, names, save


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


def plot_similarities(vectors, tokens, path=None):
    """Draws how similar vectors are to each other: the cosines of their angles.

    Args:
        vectors: (T, D), for instance the embeddings of some words.
        tokens: T names.
        path: the picture to write, if any; its suffix says the format (.png, .svg, .pdf).

    Returns:
        The axes.

    Raises:
        ValueError: if `vectors` is not a matrix, or there are not as many names.
    """
    vectors = _matrix(vectors)
    if len(vectors) != len(tokens):
        raise ValueError(
            f"Give each vector a name. Received: {len(vectors)} vectors, {len(tokens)} names"
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(lengths > 0, lengths, 1)
    inches = min(max(2.5, 0.25 * len(tokens)), 20)
    figure = make_figure(inches + 2.2, inches + 1)
    axes = figure.subplots()
    picture = axes.imshow(directions @ directions.T, "RdBu", vmin=-1, vmax=1)
    axes.set_xticks(**names(tokens, inches / len(tokens)), rotation=90)
    axes.set_yticks(**names(tokens, inches / len(tokens)))
    figure.colorbar(picture, ax=axes, label="cosine similarity", shrink=0.8)
    save(figure, path)
    return axes


def _matrix(x):
    x = ops.convert_to_numpy(ops.cast(x, "float32"))
    if x.ndim != 2 or not x.size:
        raise ValueError(f"Give a matrix with a vector in each row. Received: shape {x.shape}")
    return x
