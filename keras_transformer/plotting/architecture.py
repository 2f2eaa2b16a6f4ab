"""The architecture of a model as books draw it, from the model's own parts."""

import itertools
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch

from keras_transformer._utils.types import PathLike
from keras_transformer.layers._block import TransformerStack
from keras_transformer.layers._parts import is_replaced, layers_in, parts_of
from keras_transformer.layers.relative_bias import RelativeBias
from keras_transformer.models.language_model import TransformerLanguageModel
from keras_transformer.plotting._figures import make_figure, save_figure

_WIDTH, _HEIGHT, _GAP = 1.8, 0.46, 0.3  # of a box and the arrow above it, in inches
_COLUMN, _LEFT, _RIGHT = 2.75, 0.42, 0.26  # width of a column, and of the margins in a frame
_COLORS = {
    "embedding": "#F6DCE4",
    "attention": "#FBE0BF",
    "feed": "#CFE5F3",
    "norm": "#F4F0C4",
    "output": "#D5EBD8",
    "replaced": "#D55E00",
}
_ARROW = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0, "linewidth": 1}
_LINE = {"color": "black", "linewidth": 1, "snap": False}
_PARTS = ("embedding", "attention", "feed", "norm")  # a part of the name gives the color


class _Box(NamedTuple):
    """A layer: its name in words, its kind, and its parameters; or an input, without a layer."""

    text: str
    kind: str
    parameters: int = 0


class _Residual(NamedTuple):
    """A sub-layer with a residual connection; `norm_first` as in `BlockSettings`."""

    box: _Box
    norm: _Box
    norm_first: bool
    cross: bool


class _Block(NamedTuple):
    """Equal layers, drawn once: how many, their parameters, and the sub-layers or boxes of one."""

    repeats: int
    parameters: int
    inner: tuple[Any, ...]


def draw(model: Any, path: PathLike | None = None) -> Axes:
    """Draws the architecture of a model as books draw it, from bottom to top.

    Everything comes from the model's own parts: the number of layers, pre-norm or post-norm, the
    shapes on the edges, and the parameters in each box. Equal layers are drawn once, with their
    number. Parts that were replaced are orange-red.

    Shape letters: B batch, T target length, S source length.

    Args:
        model: a `TransformerModel`, `TransformerLanguageModel`, `Bert` or a model with one as its
            `body`, `VisionTransformer`, `RecurrentTranslator`, `Encoder` or `Decoder`. It is built.
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The axes.

    Raises:
        ValueError: if the model is not built, or is of another kind.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), figure 1.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=3)
        >>> model = kt.TransformerModel(100, 120, settings=settings)
        >>> model.build(((None, None), (None, None)))
        >>> axes = kt.draw(model)
        >>> [text.get_text() for text in axes.texts if "×" in text.get_text()]
        ['3 ×', '3 ×']
    """
    if not getattr(model, "built", False):
        raise ValueError(
            "Build the model first, such as model.build(((None, None), (None, None))), because the "
            f"figure shows its parameters. Received: {type(model).__name__}, not built"
        )
    model = getattr(model, "body", model)  # of a model with a head, which is not drawn
    columns = _columns(model)
    heights = [sum(map(_height, column)) for column in columns]
    axes = _make_axes(
        len(columns), max(heights), f"{type(model).__name__}\n{model.count_params():,} parameters"
    )
    tops = [_draw_column(axes, column, i * _COLUMN) for i, column in enumerate(columns)]
    if len(columns) > 1:
        _draw_memory(axes, tops[0][0], tops[1][1])
    save_figure(axes.figure, path)
    return axes


def _columns(model):
    """Returns the columns, each a list of boxes, blocks and the shapes between them."""
    if not hasattr(model, "encoder") and not isinstance(model, TransformerStack):
        raise ValueError(
            "Give a model of this package with an `encoder`, or one of its stacks. "
            f"Received: {type(model).__name__}"
        )
    size = _size(model)
    if hasattr(model, "decoder"):
        source = [_Box("source ids", "input"), "(B, S)", *_embedding(model, "source_embedding")]
        target = [_Box("target ids", "input"), "(B, T)", *_embedding(model, "target_embedding")]
        return [
            [*source, f"(B, S, {size})", *_stack(model, "encoder")],
            [*target, f"(B, T, {size})", *_stack(model, "decoder", True), *_outputs(model, "T")],
        ]
    if not hasattr(model, "encoder"):
        return [[_Box("vectors", "input"), f"(B, T, {size})", *_blocks(model)]]
    is_image = hasattr(model.embedding, "patch_size")
    first = _Box("images" if is_image else "ids", "input")
    shape = "(B, T)"
    if is_image:
        shape = f"(B, height, width, {model.embedding.projection.kernel.shape[2]})"
    embedding = _embedding(model, "embedding")
    stack = _stack(model, "encoder", isinstance(model, TransformerLanguageModel))
    column = [first, shape, *embedding, f"(B, T, {size})", *stack, *_outputs(model, "T")]
    return [column]


def _size(model):
    settings = getattr(model, "settings", None)
    return settings.d_model if settings is not None else model.d_model


def _box(parent, name, text=None):
    part = getattr(parent, name)
    count = sum(layer.count_params() for layer in layers_in(part))
    if is_replaced(parent, name):
        text, kind = f"{name.replace('_', ' ')}\n{type(part).__name__}", "replaced"
    else:
        kind = next((x for x in _PARTS if x in name), "feed")
    return _Box(text or name.replace("_", " "), kind, count)


def _embedding(model, name):
    part, text = getattr(model, name), name.replace("_", " ")
    if hasattr(part, "patch_size"):
        text = "patch embedding"
    elif getattr(part, "base", None) is not None or hasattr(part, "positions"):
        text += "\n+ positions"
    return [_box(model, name, text)]


def _stack(model, name, causal=False):
    """Returns the boxes of an encoder or decoder, known or not."""
    part = getattr(model, name)
    if name in getattr(model, "_replaced", ()) or not layers_in(getattr(part, "layers", ())):
        inner = parts_of(part)
        if name == "encoder" or not inner:
            kind = "replaced" if is_replaced(model, name) else "feed"
            return [_Box(f"{name}: {type(part).__name__}", kind, part.count_params())]
        boxes = [_box(part, x) for x in inner]
        return [_Block(1, part.count_params(), tuple(boxes))]
    return _blocks(part, causal)


def _blocks(stack, causal=False):
    """Returns the layers of a stack, equal neighbors as one block, and the final norm."""
    blocks = []
    layers = [(_sublayers(layer, causal), layer.count_params()) for layer in stack.layers]
    for (inner, count), group in itertools.groupby(layers):
        blocks.append(_Block(len(list(group)), count, inner))
    if getattr(stack, "final_norm", None) is not None and stack.final_norm.count_params():
        blocks.append(_box(stack, "final_norm"))
    return blocks


def _sublayers(layer, causal):
    """Returns the sub-layers of an encoder or decoder layer; one box for an unknown layer."""
    names = [x for x in ("self_attention", "cross_attention", "feed_forward") if hasattr(layer, x)]
    if not all(hasattr(layer, f"add_norm_{i}") for i in range(1, len(names) + 1)) or not names:
        return (_Box(type(layer).__name__, "replaced", layer.count_params()),)
    residuals = []
    for i, name in enumerate(names, start=1):
        part, text = getattr(layer, name), name.replace("_", "-")
        text = f"causal {text}" if causal and name == "self_attention" else text
        if "attention" in name:
            heads = getattr(part, "h", None)
            text += f"\n{heads} heads" if heads else ""
            text += ", rotary" if getattr(part, "rotary_base", None) else ""
            bias = getattr(part, "relative_bias", None)
            text += f", {bias.kind}" if isinstance(bias, RelativeBias) else ""
        norm = _box(layer, f"add_norm_{i}", "norm")
        first = bool(getattr(getattr(layer, f"add_norm_{i}"), "norm_first", False))
        residuals.append(_Residual(_box(layer, name, text), norm, first, name.startswith("cross")))
    return tuple(residuals)


def _outputs(model, length):
    """Returns the parts behind the last stack, and what the model returns."""
    boxes = []
    for name in ("projection", "pooling", "hidden", "classifier"):
        if layers_in(getattr(model, name, None)):
            part = getattr(model, name)
            axes = f"B, {length}" if name == "projection" else "B"  # of one word, or of the text
            kind = "replaced" if is_replaced(model, name) else "output"
            boxes += [f"({axes}, {_size(model)})", _Box(name, kind, part.count_params())]
            end = f"({axes}, {getattr(part, 'units', '?')})"
    if not boxes:
        if not getattr(model, "tie_output", False):
            return [f"(B, {length}, {_size(model)})", _Box("vectors", "input")]
        words = getattr(model, "dec_vocab_size", None) or model.vocab_size
        boxes = [f"(B, {length}, {_size(model)})", _Box("embedding, transposed", "output", 0)]
        end = f"(B, {length}, {words:,})"
    last = "logits" if boxes[-1].text != "pooling" else "vector of the text"
    return [*boxes, end, _Box(last, "input")]


def _height(item):
    if isinstance(item, str):
        return 0.0  # it stands beside an arrow
    if isinstance(item, _Block):
        return sum(map(_height, item.inner)) + 2 * _GAP
    if isinstance(item, _Residual):
        return _HEIGHT + 0.62 * _HEIGHT + 3.1 * _GAP
    return (0.5 if item.kind == "input" else 1) * _HEIGHT + _GAP


def _make_axes(columns, height, title):
    width = columns * _COLUMN
    axes = make_figure(width, height + 0.3).subplots()
    axes.set(xlim=(0, width), ylim=(-0.05, height - _GAP + 0.05), aspect="equal")
    axes.set_title(title, fontsize=10)
    axes.set_axis_off()
    return axes


def _draw_column(axes, column, left):
    """Draws a column; returns the top of the last block, and the cross-attention's middle."""
    x, y, targets = left + _LEFT + _WIDTH / 2, 0.0, []
    for item, following in itertools.zip_longest(column, column[1:]):
        if isinstance(item, str):
            axes.text(x + 0.08, y - _GAP / 2, item, fontsize=8, va="center", color="#444444")
            continue
        top = _draw_item(axes, item, x, y, targets)
        y += _height(item)
        if following is not None:
            axes.annotate("", (x, y), (x, top), arrowprops=_ARROW)
    return (x, top), targets


def _draw_item(axes, item, x, y, targets):
    """Draws a box or block from y upward; returns its top."""
    if isinstance(item, _Box):
        height = (0.5 if item.kind == "input" else 1) * _HEIGHT
        return _draw_box(axes, item, x, y, height)
    top = y + _height(item) - _GAP
    corner = (x - _WIDTH / 2 - _LEFT + 0.04, y)
    size = (_WIDTH + _LEFT + _RIGHT - 0.08, top - y)
    style = "round,pad=0,rounding_size=0.1"
    axes.add_patch(FancyBboxPatch(corner, *size, style, facecolor="#F4F4F4", edgecolor="#888888"))
    if item.repeats > 1:
        axes.text(corner[0] + 0.05, y + 0.09, f"{item.repeats} ×", fontsize=11, weight="bold")
    y += 0.4 * _GAP
    axes.plot([x, x], [y - 0.4 * _GAP, y], **_LINE)
    for part in item.inner:
        y = _draw_part(axes, part, x, y, targets)
    axes.plot([x, x], [y, top], **_LINE)
    return top


def _draw_part(axes, part, x, y, targets):
    if isinstance(part, _Box):
        top = _draw_box(axes, part, x, y + _GAP, _HEIGHT)
        if part.kind == "attention":
            targets.append((x - _WIDTH / 2, y + _GAP + _HEIGHT / 2))
        axes.annotate("", (x, y + _GAP), (x, y), arrowprops=_ARROW)
        return top
    start, small = y, 0.62 * _HEIGHT
    axes.plot([x, x], [y, y + 0.5 * _GAP], **_LINE)
    y += 0.5 * _GAP
    order = [(part.norm, small), (part.box, _HEIGHT)]
    plus = start + 0.5 * _GAP + small + _HEIGHT + 2 * _GAP
    if not part.norm_first:
        order, plus = order[1:], start + 0.5 * _GAP + _HEIGHT + 1.5 * _GAP
    fork = start + 0.25 * _GAP
    for box, height in order:
        axes.annotate("", (x, y + 0.5 * _GAP), (x, y), arrowprops=_ARROW)
        y += 0.5 * _GAP
        if box is part.box and part.cross:
            targets.append((x - _WIDTH / 2, y + height / 2))
        y = _draw_box(axes, box, x, y, height)
    axes.annotate("", (x, plus - 0.09), (x, y), arrowprops=_ARROW)
    axes.add_patch(Circle((x, plus), 0.09, facecolor="white", edgecolor="black"))
    axes.text(x, plus - 0.005, "+", ha="center", va="center", fontsize=9)
    lane = x + _WIDTH / 2 + 0.13
    axes.plot([x, lane, lane], [fork, fork, plus], **_LINE)
    axes.annotate("", (x + 0.09, plus), (lane, plus), arrowprops=_ARROW)
    y = plus + 0.09
    if not part.norm_first:
        axes.annotate("", (x, y + 0.5 * _GAP), (x, y), arrowprops=_ARROW)
        y = _draw_box(axes, part.norm, x, y + 0.5 * _GAP, small)
    end = start + _height(part)
    axes.plot([x, x], [y, end], **_LINE)
    return end


def _draw_box(axes, box, x, y, height):
    if box.kind == "input":
        options = {"ha": "center", "va": "center", "fontsize": 10, "style": "italic"}
        axes.text(x, y + height / 2, box.text, **options)
        return y + height
    style, corner = "round,pad=0,rounding_size=0.06", (x - _WIDTH / 2, y)
    color = _COLORS[box.kind]
    axes.add_patch(
        FancyBboxPatch(corner, _WIDTH, height, style, facecolor=color, edgecolor="black")
    )
    ink = "white" if box.kind == "replaced" else "black"
    name, _, detail = box.text.partition("\n")
    text = " · ".join(filter(None, [detail, f"{box.parameters:,}" if box.parameters else ""]))
    if height < _HEIGHT:
        name, text = " · ".join(filter(None, [name, text])), ""
    middle = y + height / 2
    fontsize = 9 if len(name) < 26 else 7
    options = {"ha": "center", "va": "center", "color": ink}
    axes.text(x, middle + (0.085 if text else 0), name, fontsize=fontsize, **options)
    axes.text(x, middle - 0.1, text, fontsize=8, **options)
    return y + height


def _draw_memory(axes, top, targets):
    """Draws the arrows from the encoder's output to each cross-attention."""
    (x, y), lane = top, _COLUMN - 0.13
    axes.plot([x, x, lane], [y, y + _GAP / 2, y + _GAP / 2], **_LINE)
    axes.text(x - 0.1, y + 0.8 * _GAP, "encoder output", fontsize=8, color="#444444", ha="center")
    for to_x, to_y in targets:
        axes.plot([lane, lane], [y + _GAP / 2, to_y], **_LINE)
        axes.annotate("", (to_x, to_y), (lane, to_y), arrowprops=_ARROW)
