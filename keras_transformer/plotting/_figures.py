"""Style and output shared by all plots."""

import io
import math
from pathlib import Path

from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure
from matplotlib.text import Text

from keras_transformer._utils.files import atomic_replace

# The palette of Okabe and Ito, distinguishable with color blindness; low-contrast colors come last.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")


def color(i):
    """Returns the color of line i."""
    return COLORS[i % len(COLORS)]


class _Figure(Figure):
    """A figure without a window, which works without a display and is shown by notebooks."""

    def draw(self, renderer):
        for text in self.findobj(Text):
            text.set_parse_math(False)  # tokens and names may contain dollar signs
        super().draw(renderer)

    def _repr_png_(self):
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def make_figure(width, height):
    """Returns an empty figure; the sizes are in inches."""
    return _Figure(figsize=(width, height), dpi=80, layout="constrained")


def image_format(path):
    """Returns the format of an image file by its suffix, "png" without one.

    Raises:
        ValueError: if there is no such format.
    """
    suffix = Path(path).suffix[1:].lower() or "png"
    if suffix not in FigureCanvasBase.get_supported_filetypes():
        raise ValueError(f"Give an image file, such as plot.png, .svg or .pdf. Received: {path}")
    return suffix


def save_figure(figure, path):
    """Writes a figure to a file, replaced atomically. Does nothing if `path` is None."""
    if path is not None:
        kind = image_format(path)
        with atomic_replace(path) as temporary, open(temporary, "wb") as file:
            figure.savefig(file, dpi=150, format=kind)


def token_ticks(tokens, inches):
    """Returns the arguments of `Axes.set_xticks` that label as many tokens as is legible.

    Args:
        tokens: names of the tokens.
        inches: space per token.
    """
    positions = range(0, len(tokens), math.ceil(0.1 / inches))
    labels = [str(tokens[i]).removeprefix("▁") for i in positions]
    return {"ticks": positions, "labels": labels, "fontsize": min(max(5, 40 * inches), 8)}
