"""Pictures."""

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from keras_transformer.files import replacing


def plot_losses(histories, path):
    """Draws losses, accuracies and learning rates over the epochs.

    Args:
        histories: dictionary from the name of a run to its history, as `RunFolder.read_history`
            returns it.
        path: the picture to write; its suffix says the format (.png, .svg, .pdf).

    Raises:
        ValueError: if there is no run, or a history is empty.
    """
    if not histories or not all(histories.values()):
        raise ValueError(f"There is nothing to draw. Received: {histories}")
    figure = Figure(figsize=(8, 7), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(5, 3))
    loss_axes = figure.add_subplot(grid[0, :])
    accuracy_axes = figure.add_subplot(grid[1, 0])
    rate_axes = figure.add_subplot(grid[1, 1])
    for i, (name, history) in enumerate(histories.items()):
        label = "" if len(histories) == 1 else f"{name}: "
        _plot_losses(loss_axes, history, f"C{i}", label)
        _plot_pair(accuracy_axes, history, "accuracy", f"C{i}")
        rates = _column(history, "learning_rate")
        rate_axes.plot(_column(history, "epoch"), rates, f"C{i}.-")
    loss_axes.set_title(next(iter(histories)) if len(histories) == 1 else "Losses of the runs")
    _finish_axes(loss_axes, "cross entropy (nats per token)")
    _finish_axes(accuracy_axes, "token accuracy")
    _finish_axes(rate_axes, "learning rate")
    rate_axes.ticklabel_format(axis="y", scilimits=(0, 0))
    loss_axes.legend()
    with replacing(path) as beside:
        figure.savefig(beside, dpi=150)


def plot_attention(hypothesis, path):
    """Draws what each head of each layer looked at in the source for each word.

    Args:
        hypothesis: a `Hypothesis` with its attention.
        path: the picture to write; its suffix says the format (.png, .svg, .pdf).

    Raises:
        ValueError: if the hypothesis has no attention.
    """
    if hypothesis.attention is None:
        raise ValueError(
            "There is no attention to draw: translate with `return_attention=True`. "
            f"Received: {hypothesis.text!r}"
        )
    weights = hypothesis.attention["cross"]  # (layers, heads, T, S)
    layers, heads, length, source_length = weights.shape
    # As large as its labels need: 0.2 inches a token.
    size = (1.5 + heads * max(1.4, 0.2 * source_length), 1.5 + layers * max(1.2, 0.2 * length))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(layers, heads, sharex=True, sharey=True, squeeze=False)
    for layer, row in enumerate(grid):
        for head, axes in enumerate(row):
            picture = axes.imshow(weights[layer, head], "Blues", vmin=0, vmax=1, aspect="auto")
            axes.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=8)
    for axes in grid[:, 0]:
        axes.set_yticks(range(length), _labels(hypothesis.tokens), fontsize=8)
    for axes in grid[-1]:
        labels = _labels(hypothesis.source_tokens)
        axes.set_xticks(range(source_length), labels, rotation=90, fontsize=8)
    figure.supxlabel("source", fontsize=9)
    figure.supylabel("translation", fontsize=9)
    figure.colorbar(picture, ax=grid, label="attention", fraction=0.02)
    with replacing(path) as beside:
        figure.savefig(beside, dpi=150)


def _labels(tokens):
    return [token.removeprefix("▁") for token in tokens]


def _plot_losses(axes, history, color, label):
    best = min(history, key=lambda row: row["validation_loss"])
    text = f"best {best['validation_loss']:.2f} in epoch {best['epoch']:.0f}"
    _plot_pair(axes, history, "loss", color, f"{label}training", f"{label}validation, {text}")
    mark = {"marker": "o", "markersize": 10, "fillstyle": "none"}
    axes.plot(best["epoch"], best["validation_loss"], color, **mark)


def _plot_pair(axes, history, name, color, training_label=None, validation_label=None):
    epochs = _column(history, "epoch")
    axes.plot(epochs, _column(history, name), f"{color}--", label=training_label)
    validation = _column(history, f"validation_{name}")
    axes.plot(epochs, validation, f"{color}.-", label=validation_label)


def _finish_axes(axes, label):
    axes.set_xlabel("epoch")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)


def _column(history, name):
    return [row[name] for row in history]
