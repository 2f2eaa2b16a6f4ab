"""Plots of training runs and learning-rate schedules."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import PathLike
from keras_transformer.plotting._figures import STYLES, color, make_figure, save_figure
from keras_transformer.runs.folder import CURVE_COLUMNS, RunFolder

_WITHIN = "within "  # begins the columns of points within epochs
_UNITS = {"loss": "cross entropy (nats per token)", "accuracy": "token accuracy"}  # of a run


def plot_losses(histories: Any, path: PathLike | None = None) -> tuple[Axes, ...]:
    """Plots losses, a metric such as the accuracy, and learning rates over the epochs.

    Of a run folder, the training loss and the learning rate are also plotted within the epochs; if
    it is the only one, with the updates on an axis at the top and the warm-up in gray.

    Args:
        histories: what `fit` returns, or its `history`, a dictionary of lists; the path of a run
            folder; or the list that `RunFolder.read_history` returns. To compare several, a
            dictionary from names to these.
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The axes of the losses, and of the first metric and the learning rates, if recorded.

    Raises:
        ValueError: if there is no history, or one has no losses.

    Example:
        kt.plot_losses(model.fit(train, validation_data=validation, epochs=5))
        kt.plot_losses({"small": "runs/small", "large": "runs/large"}, "curves.png")
    """
    if isinstance(histories, str | os.PathLike):
        histories = {Path(histories).name: histories}
    elif not isinstance(histories, dict) or _has_columns(histories):
        histories = {"Losses": histories}
    runs = {name: _read_columns(history) for name, history in histories.items()}
    columns = next(iter(runs.values()))
    others = ("epoch", "loss", "learning_rate", "validation_", _WITHIN)
    metrics = [x for x in columns if not x.startswith(others)]
    small = [x for x in (*metrics[:1], "learning_rate") if x in columns]
    rows = [["loss"] * len(small), small] if small else [["loss"]]
    figure = make_figure(8, 7)
    panels = figure.subplot_mosaic(rows, height_ratios=(5, 3)[: len(rows)])
    units = _UNITS if "seconds" in columns else {}
    for name, axes in panels.items():
        for i, (run, columns) in enumerate(runs.items()):
            _plot_column(axes, columns, name, color(i), f"{run}: " if len(runs) > 1 else "")
        if len(runs) == 1:
            _mark_updates(axes, columns, name)
        axes.set(xlabel="epoch", ylabel=units.get(name, name.replace("_", " ")))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.grid(alpha=0.3)
    if "learning_rate" in panels:
        panels["learning_rate"].ticklabel_format(axis="y", scilimits=(0, 0))
    panels["loss"].set_title(next(iter(runs)) if len(runs) == 1 else "Losses of all runs")
    panels["loss"].legend()
    save_figure(figure, path)
    return tuple(panels.values())


def plot_schedules(
    schedules: dict[str, Callable[..., Any]], steps: int, path: PathLike | None = None
) -> Axes:
    """Plots learning-rate schedules.

    Args:
        schedules: dictionary from a label to a `keras.optimizers.schedules.LearningRateSchedule` or
            another function from the step to the learning rate.
        steps: number of steps.
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The axes.

    Raises:
        ValueError: if there is no schedule, or `steps` is not a positive integer.

    Example:
        >>> axes = kt.plot_schedules({"warm-up": kt.WarmupSchedule(512)}, steps=20_000)
        >>> axes.get_ylabel()
        'learning rate'
    """
    check_sizes(steps=steps)
    if not schedules:
        raise ValueError(f"There is nothing to plot: give a schedule. Received: {schedules}")
    figure = make_figure(6, 3.5)
    axes = figure.subplots()
    positions = np.unique(np.linspace(0, steps, 300).astype(int))
    for i, (name, schedule) in enumerate(schedules.items()):
        rates = [float(ops.convert_to_numpy(schedule(int(step)))) for step in positions]
        axes.plot(positions, rates, STYLES[i % len(STYLES)], color=color(i), label=name)
    axes.set(xlabel="step", ylabel="learning rate", xlim=(0, steps))
    axes.set_ylim(bottom=0)
    axes.ticklabel_format(axis="y", scilimits=(0, 0))
    axes.grid(alpha=0.3)
    axes.legend()
    save_figure(figure, path)
    return axes


def _has_columns(history):
    return all(np.asarray(values).dtype.kind in "fi" for values in history.values())


def _read_columns(history):
    """Returns a dictionary from names, those of run folders, to lists of numbers."""
    curve = []
    if isinstance(history, str | os.PathLike):
        run = RunFolder(history)
        history, curve = run.read_history(), run.read_curve()
    if isinstance(history, list) and history and isinstance(history[0], dict):
        history = {name: [row[name] for row in history] for name in history[0]}
    if isinstance(history, keras.callbacks.History):
        history = {"epoch": np.add(history.epoch, 1), **history.history}
    if not isinstance(history, dict) or not np.size(history.get("loss", [])):
        raise ValueError(
            "There is nothing to plot: give what `fit` returns, or a run with at least one epoch. "
            f"Received: {excerpt(history)}"
        )
    columns = {"epoch": np.arange(np.size(history["loss"])) + 1, **history}
    if curve:
        columns |= {
            f"{_WITHIN}{name}": x
            for name, x in zip(CURVE_COLUMNS, zip(*curve, strict=True), strict=True)
        }
    return {re.sub("^val_", "validation_", name): np.ravel(x) for name, x in columns.items()}


def _updates_per_epoch(columns):
    return columns[f"{_WITHIN}updates"][-1] / columns["epoch"][-1]


def _mark_updates(axes, columns, name):
    """Marks the warm-up of a run, and in the panel of the losses also the numbers of updates."""
    if f"{_WITHIN}updates" not in columns:
        return
    rates, per_epoch = columns[f"{_WITHIN}learning_rate"], _updates_per_epoch(columns)
    warm_up = columns[f"{_WITHIN}updates"][np.argmax(rates)] / per_epoch
    if rates[0] < rates.max():
        axes.axvspan(0, warm_up, color="gray", alpha=0.15, lw=0, label="warm-up")
    axes.set_xlim(left=0)
    if name == "loss":
        functions = (lambda epoch: epoch * per_epoch, lambda update: update / per_epoch)
        axes.secondary_xaxis("top", functions=functions).set_xlabel("updates")


def _plot_column(axes, columns, name, color, label):
    """Plots a column and that of the validation, and marks the best validation loss."""
    within = columns.get(f"{_WITHIN}{name}")
    if within is None:
        style, means = ".-" if name == "learning_rate" else ".--", f"{label}training"
    else:
        style, means = (
            "." if name == "learning_rate" else ".--",
            f"{label}training, mean of an epoch",
        )
        epochs = columns[f"{_WITHIN}updates"] / _updates_per_epoch(columns)
        text = None if label else "training, every few updates"
        axes.plot(epochs, within, color=color, alpha=0.4, lw=1, label=text)
    axes.plot(*_points(columns, name), style, color=color, label=means)
    epochs, values = _points(columns, f"validation_{name}")
    if values.size:
        best = np.argmin(np.nan_to_num(values, nan=np.inf))
        text = f"{label}validation"
        if name == "loss":
            text += f", best {values[best]:.2f} in epoch {epochs[best]:.0f}"
        axes.plot(epochs, values, ".-", color=color, label=text)
        if name == "loss":
            axes.plot(epochs[best], values[best], "o", ms=10, fillstyle="none", color=color)


def _points(columns, name):
    """Returns the epochs and the values of a column, which is empty if it is missing."""
    epochs, values = columns["epoch"], columns.get(name, np.array([]))
    every = len(epochs) // max(1, len(values))  # more than 1 with a `validation_freq`
    return epochs[every - 1 :: every][: len(values)], values
