"""Plots of time series."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from keras_transformer._utils.types import PathLike, Tensor
from keras_transformer.plotting._figures import STYLES, color, make_figure, save_figure


def plot_forecast(
    observed: Tensor,
    predicted: dict[str, Any],
    path: PathLike | None = None,
    xlabel: str = "number of the predicted value",
) -> Axes:
    """Plots the predictions of a time series beside the observed numbers.

    Args:
        observed: floats, (N,) or (N, 1).
        predicted: dictionary from a label to the predictions, floats (N,) or (N, 1).
        path: path of the image file to write, if any: .png, .svg or .pdf.
        xlabel: label of the x axis, which counts the numbers from 1.

    Returns:
        The axes.

    Raises:
        ValueError: if there are no numbers, or not as many predictions as numbers.

    Example:
        >>> axes = kt.plot_forecast([0.1, 0.5, 0.3], {"like the last": [0.0, 0.1, 0.5]})
        >>> len(axes.lines)
        2
    """
    observed = np.ravel(observed)
    predicted = {label: np.ravel(numbers) for label, numbers in predicted.items()}
    lengths = [len(numbers) for numbers in predicted.values()]
    if not len(observed) or set(lengths) - {len(observed)}:
        raise ValueError(
            "There must be at least one number, and a prediction of each. "
            f"Received: {len(observed)} numbers, {lengths} predictions"
        )
    axes = make_figure(9, 3).add_subplot()
    x = np.arange(1, len(observed) + 1)
    axes.plot(x, observed, "o-", color="black", markersize=4, linewidth=1, label="observed")
    for i, (label, numbers) in enumerate(predicted.items()):
        style = STYLES[(i + 1) % len(STYLES)]
        axes.plot(x, numbers, "s", linestyle=style, color=color(i), markersize=4, label=label)
    axes.set(xlabel=xlabel, ylabel="value, scaled to 0 … 1")
    axes.legend(loc="upper center", ncols=len(predicted) + 1)
    axes.set_ylim(top=axes.get_ylim()[1] + 0.2 * np.ptp(axes.get_ylim()))  # room for the legend
    save_figure(axes.figure, path)
    return axes
