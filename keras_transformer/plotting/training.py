"""Plots of training runs and learning-rate schedules."""

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.types import PathLike
from keras_transformer.plotting._figures import STYLES, color, make_figure, save_figure


def plot_losses(
    histories: dict[str, list[dict[str, float]]], path: PathLike | None = None
) -> tuple[Axes, Axes, Axes]:
    """Plots losses, accuracies and learning rates over the epochs.

    Args:
        histories: dictionary from the name of a run to its history, see `RunFolder.read_history`.
        path: path of the image file to write, if any; its suffix gives the format (.png, .svg,
            .pdf).

    Returns:
        The axes of the losses, of the accuracies and of the learning rates.

    Raises:
        ValueError: if there is no run, or a history is empty.

    Example:
        history = kt.RunFolder("runs/en-de").read_history()
        kt.plot_losses({"en-de": history}, "curves.png")
    """
    if not histories or not all(histories.values()):
        raise ValueError(
            f"There is nothing to plot: give a run with at least one epoch. Received: {histories}"
        )
    figure = make_figure(8, 7)
    grid = figure.add_gridspec(2, 2, height_ratios=(5, 3))
    loss_axes = figure.add_subplot(grid[0, :])
    accuracy_axes = figure.add_subplot(grid[1, 0])
    rate_axes = figure.add_subplot(grid[1, 1])
    for i, (name, history) in enumerate(histories.items()):
        label = "" if len(histories) == 1 else f"{name}: "
        _plot_losses(loss_axes, history, color(i), label)
        _plot_pair(accuracy_axes, history, "accuracy", color(i))
        rates = _column(history, "learning_rate")
        rate_axes.plot(_column(history, "epoch"), rates, ".-", color=color(i))
    loss_axes.set_title(next(iter(histories)) if len(histories) == 1 else "Losses of all runs")
    _finish_axes(loss_axes, "cross entropy (nats per token)")
    _finish_axes(accuracy_axes, "token accuracy")
    _finish_axes(rate_axes, "learning rate")
    rate_axes.ticklabel_format(axis="y", scilimits=(0, 0))
    loss_axes.legend()
    save_figure(figure, path)
    return loss_axes, accuracy_axes, rate_axes


def plot_schedules(
    schedules: dict[str, Callable[..., Any]], steps: int, path: PathLike | None = None
) -> Axes:
    """Plots learning-rate schedules.

    Args:
        schedules: dictionary from a label to a `keras.optimizers.schedules.LearningRateSchedule` or
            another function from the step to the learning rate.
        steps: number of steps.
        path: path of the image file to write, if any; its suffix gives the format (.png, .svg,
            .pdf).

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


def _plot_losses(axes, history, color, label):
    best = min(history, key=lambda row: row["validation_loss"])
    text = f"best {best['validation_loss']:.2f} in epoch {best['epoch']:.0f}"
    _plot_pair(axes, history, "loss", color, f"{label}training", f"{label}validation, {text}")
    mark = {"marker": "o", "markersize": 10, "fillstyle": "none", "color": color}
    axes.plot(best["epoch"], best["validation_loss"], **mark)


def _plot_pair(axes, history, name, color, training_label=None, validation_label=None):
    epochs = _column(history, "epoch")
    axes.plot(epochs, _column(history, name), "--", color=color, label=training_label)
    validation = _column(history, f"validation_{name}")
    axes.plot(epochs, validation, ".-", color=color, label=validation_label)


def _finish_axes(axes, label):
    axes.set_xlabel("epoch")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)


def _column(history, name):
    return [row[name] for row in history]
