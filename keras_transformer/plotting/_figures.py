"""What all pictures have in common: one quiet style, and how they are kept."""

import io
import math

from matplotlib.figure import Figure

from keras_transformer._utils.files import atomic_replace

# Okabe and Ito's colours, which the colour-blind can tell apart, the quiet ones first.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")


def color(i):
    """The colour of the line i of a picture."""
    return COLORS[i % len(COLORS)]


class _Figure(Figure):
    """Belongs to no window, so it works everywhere; notebooks show it."""

    def _repr_png_(self):
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=80)
        return picture.getvalue()


def make_figure(width, height):
    """An empty figure of so many inches."""
    return _Figure(figsize=(width, height), layout="constrained")


def save(figure, path):
    """Writes a figure, beside what is there before it replaces it. Nothing if `path` is None."""
    if path is not None:
        with atomic_replace(path) as temporary:
            figure.savefig(temporary, dpi=150)


def names(tokens, inches):
    """Ticks with the names of tokens that have so many inches each: as many as can be read."""
    places = range(0, len(tokens), math.ceil(0.1 / inches))
    labels = [str(tokens[i]).removeprefix("▁") for i in places]
    return {"ticks": places, "labels": labels, "fontsize": min(max(5, 40 * inches), 8)}
