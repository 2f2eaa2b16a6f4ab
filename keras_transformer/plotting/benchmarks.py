"""Pictures of benchmarks."""

import numpy as np

from keras_transformer.plotting._figures import color, make_figure, save


def plot_speeds(speeds, label, path=None):
    """Draws speeds as bars, in a group for each case.

    Args:
        speeds: dictionary from the name of a system to a dictionary from a case to its speed, the
            same cases in each.
        label: what is drawn, with its unit.
        path: the picture to write, if any; its suffix says the format (.png, .svg, .pdf).

    Returns:
        The axes.

    Raises:
        ValueError: if there is nothing to draw, or the cases differ.
    """
    cases = [list(values) for values in speeds.values()]
    if not cases or not cases[0] or any(found != cases[0] for found in cases):
        raise ValueError(f"Give the same cases for each system. Received: {speeds}")
    figure = make_figure(8, 1 + len(cases[0]) * (0.25 + 0.22 * len(speeds)))
    axes = figure.subplots()
    places = np.arange(len(cases[0]))
    height = 0.85 / len(speeds)
    for i, (name, values) in enumerate(speeds.items()):
        bars = axes.barh(places + i * height, values.values(), 0.9 * height, color=color(i))
        bars.set_label(name)
        axes.bar_label(bars, fmt="%.3g", padding=3, fontsize=8)
    axes.set_yticks(places + height * (len(speeds) - 1) / 2, cases[0])
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.margins(x=0.1)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=8)
    save(figure, path)
    return axes
