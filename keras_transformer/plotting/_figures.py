"""Style and output shared by all plots."""

import io
import math

from matplotlib.figure import Figure

from keras_transformer._utils.files import atomic_replace

# The palette of Okabe and Ito, distinguishable with color blindness; low-contrast colors come last.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")


def color(i):
    """Returns the color of line i."""
    return COLORS[i % len(COLORS)]


class _Figure(Figure):
    """A figure without a window, which works without a display and is shown by notebooks."""

    def _repr_png_(self):
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def make_figure(width, height):
    """Returns an empty figure; the sizes are in inches."""
    return _Figure(figsize=(width, height), dpi=80, layout="constrained")


def save_figure(figure, path):
    """Writes a figure to a file, replaced atomically. Does nothing if `path` is None."""
    if path is not None:
        with atomic_replace(path) as temporary:
            figure.savefig(temporary, dpi=150)


def token_ticks(tokens, inches):
    """Returns the arguments of `Axes.set_xticks` that label as many tokens as is legible.

    Args:
        tokens: names of the tokens.
        inches: space per token.
    """
    positions = range(0, len(tokens), math.ceil(0.1 / inches))
    labels = [str(tokens[i]).removeprefix("▁") for i in positions]
    return {"ticks": positions, "labels": labels, "fontsize": min(max(5, 40 * inches), 8)}
