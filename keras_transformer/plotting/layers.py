"""Block diagrams of layers."""

from typing import Any, NamedTuple

import keras
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from keras_transformer._utils.types import PathLike, Tensor
from keras_transformer.layers.add_normalization import AddNormalization
from keras_transformer.plotting._figures import make_figure, save_figure

_WIDTH, _HEIGHT, _GAP, _LANE = 2.8, 0.5, 0.3, 0.3  # of boxes and between them, in inches
_INPUT, _LAYER, _OPERATION = "#E0E0E0", "#CFE5F3", "#FFFFFF"
_ARROW = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}


class _Box(NamedTuple):
    """An input, or a call of a layer or an operation; `parents` are indices of boxes it reads."""

    text: str
    color: str
    parents: list[int]


def plot_layer(layer: Any, *inputs: Tensor, path: PathLike | None = None) -> Axes:
    """Draws the block diagram of a layer: what it calls, in which order, and the output shapes.

    It is read from bottom to top. Gray boxes are inputs, blue boxes layers with their class, white
    boxes operations. "B" is the batch size.

    Args:
        layer: a `keras.layers.Layer` or `keras.Model`.
        *inputs: the arguments of its call, each a `keras.Input` or a tuple of them.
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The axes.

    Raises:
        ValueError: if an argument is not a `keras.Input`.

    Example:
        >>> layer = kt.EncoderLayer(settings=kt.BlockSettings(h=4, d_model=64, d_ff=128))
        >>> axes = kt.plot_layer(layer, keras.Input((7, 64)))
        >>> len(axes.patches)  # boxes
        5
    """
    flat = keras.tree.flatten(inputs)
    if not flat or not all(isinstance(x, keras.KerasTensor) for x in flat):
        raise ValueError(
            "Give the arguments of the layer's call as `keras.Input` of one sentence's shape, such "
            f"as plot_layer(layer, keras.Input((7, 64))). Received: {[type(x) for x in flat]}"
        )
    layer(*inputs)  # builds it
    boxes = _read_boxes(keras.Model(flat, layer.call(*inputs)))
    levels = _levels(boxes)
    places = _place(boxes, levels)
    arrows = [(parent, i) for i, box in enumerate(boxes) for parent in dict.fromkeys(box.parents)]
    detours = [(parent, i) for parent, i in arrows if levels[i] - levels[parent] > 1]
    axes = _make_axes(places, len(detours), layer.name)
    for i, box in enumerate(boxes):
        _draw_box(axes, box, *places[i])
    lane = max(x for x, _ in places.values()) + _WIDTH / 2
    for parent, i in arrows:
        if (parent, i) in detours:
            lane += _LANE
            _draw_detour(axes, places[parent], places[i], lane)
        else:
            _draw_arrow(axes, places[parent], places[i])
    save_figure(axes.figure, path)
    return axes


def _read_boxes(graph):
    """Returns the boxes of a functional model: the inputs, then the calls in their order.

    `clone_model` calls each layer and each operation again, with what was its input.
    """
    boxes, tensors = [], []  # the tensors with the indices of the boxes that they come from
    for x in graph.inputs:
        name = "input" if x.name.startswith("keras_tensor") else x.name  # Keras's default name
        tensors.append((x, len(boxes)))
        boxes.append(_Box(f"{name} {_format_shape(x.shape)}", _INPUT, []))

    def call(operation, *args, **kwargs):
        outputs = operation(*args, **kwargs)
        arguments = keras.tree.flatten((args, kwargs))
        parents = [i for x in arguments for tensor, i in tensors if x is tensor]
        if isinstance(operation, AddNormalization) and len(args) == 1:
            operation = operation.normalization  # the input of a sub-layer in pre-norm
        text, color = type(operation).__name__, _OPERATION
        if isinstance(operation, keras.layers.Layer):
            text, color = f"{operation.name}\n{text}", _LAYER
        shape = _format_shape(keras.tree.flatten(outputs)[0].shape)
        tensors.extend((x, len(boxes)) for x in keras.tree.flatten(outputs))
        boxes.append(_Box(f"{text} {shape}", color, parents))
        return outputs

    keras.models.clone_model(
        graph, input_tensors=graph.inputs, clone_function=lambda x: x, call_function=call
    )
    return boxes


def _format_shape(shape):
    return f"({', '.join('B' if size is None else str(size) for size in shape)})"


def _levels(boxes):
    """Returns the level of each box, from 0: directly below the first box that reads its output."""
    to_end = [0] * len(boxes)  # length of the longest path to the end
    for i in reversed(range(len(boxes))):
        for parent in boxes[i].parents:
            to_end[parent] = max(to_end[parent], to_end[i] + 1)
    top = max(to_end)
    return [top - length for length in to_end]


def _place(boxes, levels):
    """Returns the centers, by index: each as near as possible below the boxes that read it."""
    places = {}
    for level in range(max(levels), -1, -1):
        members = [i for i in range(len(boxes)) if levels[i] == level]
        wanted = {i: _mean_x(i, boxes, places) for i in members}
        # Inputs stand on the right, so that the other boxes form a column.
        members.sort(key=lambda i: (boxes[i].color == _INPUT, wanted[i]))
        column = [i for i in members if boxes[i].color != _INPUT] or members
        steps = {i: place * (_WIDTH + _GAP) for place, i in enumerate(members)}
        shift = sum(wanted[i] - steps[i] for i in column) / len(column)
        for i in members:
            places[i] = (steps[i] + shift, level * (_HEIGHT + _GAP))
    return places


def _mean_x(i, boxes, places):
    """Returns the mean x of the boxes that read the output of box i."""
    readers = [places[reader][0] for reader, box in enumerate(boxes) if i in box.parents]
    return sum(readers) / len(readers) if readers else 0.0


def _make_axes(places, detours, title):
    left = min(x for x, _ in places.values()) - _WIDTH / 2 - 0.1
    right = max(x for x, _ in places.values()) + _WIDTH / 2 + _LANE * (detours + 0.5)
    top = max(y for _, y in places.values()) + _HEIGHT / 2 + 0.1
    bottom = -_HEIGHT / 2 - 0.1
    axes = make_figure(right - left, top - bottom + 0.4).subplots()
    axes.set(xlim=(left, right), ylim=(bottom, top), title=title, aspect="equal")
    axes.set_axis_off()
    return axes


def _draw_box(axes, box, x, y):
    corner = (x - _WIDTH / 2, y - _HEIGHT / 2)
    style = "round,pad=0,rounding_size=0.06"
    axes.add_patch(
        FancyBboxPatch(corner, _WIDTH, _HEIGHT, style, facecolor=box.color, edgecolor="black")
    )
    axes.text(x, y, box.text, ha="center", va="center", fontsize=8)


def _draw_arrow(axes, start, end):
    (x, y), (to_x, to_y) = start, end
    axes.annotate("", (to_x, to_y - _HEIGHT / 2), (x, y + _HEIGHT / 2), arrowprops=_ARROW)


def _draw_detour(axes, start, end, lane):
    """Draws an arrow past the levels between two boxes, on the right of all boxes."""
    (x, y), (to_x, to_y) = (start[0] + _WIDTH / 4, start[1]), (end[0] + _WIDTH / 4, end[1])
    y, to_y = y + _HEIGHT / 2, to_y - _HEIGHT / 2
    above, below = y + _GAP / 3, to_y - _GAP / 3
    axes.plot([x, x, lane, lane, to_x], [y, above, above, below, below], "black", linewidth=1)
    axes.annotate("", (to_x, to_y), (to_x, below), arrowprops=_ARROW)
