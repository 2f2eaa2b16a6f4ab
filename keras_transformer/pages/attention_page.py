"""Interactive attention weights as a self-contained HTML page."""

import html
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.special_tokens import SPECIAL_TOKENS, START_ID
from keras_transformer._utils.types import PathLike
from keras_transformer.inference.translate import Hypothesis, Translate
from keras_transformer.layers._fused_attention import repeat_heads
from keras_transformer.layers.record_attention import Recording, record_attention
from keras_transformer.models.ensemble import Ensemble
from keras_transformer.pages._assembly import fill, read_parts, to_json

_VIEW_NAMES = {
    "encoder": "encoder: self-attention of the source",
    "causal": "decoder: causal self-attention of the words read so far",
    "cross": "cross: attention of the word being written to the source",
}
_DECIMALS = 3


class AttentionView(NamedTuple):
    """The attention weights of one kind of attention in all layers and heads.

    Shape letters: n layers, N heads, T query length, S key length.

    Args:
        name: name of the view on the page.
        query_tokens: list of T strings, the tokens that attend.
        key_tokens: list of S strings, the tokens that are attended to.
        weights: float (n, N, T, S), the attention weights.
        queries: float (n, N, T, d_k), the projected queries. Defaults to `None`.
        keys: float (n, N, S, d_k), the projected keys. Defaults to `None`.
        causal: whether query t may attend to the keys up to position t only.
        segments: for self-attention over two texts, a list with 0 for each token of the first and 1
            for each of the second. Defaults to `None`, a single text.

    Example:
        >>> weights = np.full((1, 8, 2, 3), 1 / 3)  # one layer, eight heads
        >>> view = kt.AttentionView("uniform", ["ein", "Haus"], ["a", "house", "."], weights)
        >>> view.weights.shape
        (1, 8, 2, 3)
    """

    name: str
    query_tokens: list[str]
    key_tokens: list[str]
    weights: np.ndarray
    queries: np.ndarray | None = None
    keys: np.ndarray | None = None
    causal: bool = False
    segments: Any = None


def write_attention_page(path: PathLike, views: Iterable[AttentionView], title: str) -> None:
    """Writes attention weights as a self-contained, interactive HTML file.

    The page shows all heads of all layers at once; a click enlarges one of them. Another picture
    connects query and key tokens with lines; pointing at a token shows its weights. If a view has
    queries and keys, the page can also show how the weights of a single query are computed from
    them. If it has segments, the page can show only the weights from one text to one text. All
    numbers are rounded to three decimals.

    Args:
        path: path of the output file.
        views: list of `AttentionView`.
        title: title of the page.

    Raises:
        OSError: if the file cannot be written; an existing file is left unchanged.
        ValueError: if `views` is empty, or the arrays of a view do not match its tokens or are not
            finite.

    Example:
        >>> view = kt.AttentionView("identity", ["a", "b"], ["a", "b"], np.eye(2)[None, None])
        >>> kt.write_attention_page("attention.html", [view], "a b")
        >>> with open("attention.html") as file:
        ...     print(file.readline())
        <!DOCTYPE html>
    """
    page = make_attention_page(views, title)
    with atomic_replace(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


class AttentionPage:
    """An interactive attention page, shown in a notebook as the result of a cell.

    The page is part of the output of the cell, in a frame that isolates it from the notebook. It
    needs no files, no network and no extension.

    Args:
        views: list of `AttentionView`.
        title: title of the page.
        height: height of the frame, in pixels.

    Raises:
        ValueError: if `views` or `height` is invalid; see `write_attention_page`.

    Example:
        >>> view = kt.AttentionView("identity", ["a", "b"], ["a", "b"], np.eye(2)[None, None])
        >>> kt.AttentionPage([view], "a b")
        <AttentionPage 'a b'>
    """

    def __init__(self, views: Iterable[AttentionView], title: str, height: int = 560) -> None:
        if not isinstance(height, int) or height < 1:
            raise ValueError(f"`height` must be a positive int. Received: height={height!r}")
        self.title, self.height = str(title), height
        self._page = make_attention_page(views, title)

    def __repr__(self) -> str:
        return f"<AttentionPage {self.title!r}>"

    def _repr_html_(self) -> str:
        # In one line, because a notebook file indents and quotes each line (-8 KB). Notebooks that
        # are not trusted, and some viewers, drop the frame and keep the sentence.
        page = html.escape(self._page).replace("\n", "&#10;")
        return (
            f'<iframe title="attention weights" sandbox="allow-scripts" width="100%" '
            f'height="{self.height}" style="border: 0" srcdoc="{page}">'
            "An interactive page of attention weights: trust the notebook to see it.</iframe>"
        )


def make_attention_page(views, title):
    """Returns the HTML text that `write_attention_page` writes."""
    views = [_view_data(view) for view in views or ()]
    if not views:
        raise ValueError(f"`views` must contain at least one view. Received: {views=}")
    data = {"title": str(title), "views": views}
    page = read_parts("attention_page.html")
    return fill(page, drawing=read_parts("drawing.js"), data=to_json(data))


def hypothesis_views(hypothesis: Hypothesis) -> list[AttentionView]:
    """Returns views of the attention weights of a hypothesis.

    Args:
        hypothesis: a `Hypothesis` with attention weights.

    Returns:
        A list of `AttentionView`, one for each kind of attention that the model has, in the order
        encoder, decoder, cross.

    Raises:
        ValueError: if the hypothesis has no attention weights.

    Example:
        >>> tokens = ["Guten", "Tag", "[END]"]
        >>> attention = {"cross": np.full((1, 1, 3, 2), 0.5)}
        >>> hypothesis = kt.Hypothesis("Guten Tag", -0.5, tokens, ["hello", "[END]"], attention)
        >>> [view.name for view in kt.hypothesis_views(hypothesis)]
        ['cross: attention of the word being written to the source']
    """
    if hypothesis.attention is None:
        _check_words(hypothesis)
        raise ValueError(
            "The hypothesis has no attention weights: translate with `return_attention=True`. "
            f"Received: {hypothesis.text!r}"
        )
    return _named_views(hypothesis, hypothesis.attention)


def translation_views(translate: Translate, hypothesis: Hypothesis) -> list[AttentionView]:
    """Computes views of a translation, including queries and keys, in one forward pass.

    Args:
        translate: the `Translate` that produced the hypothesis.
        hypothesis: a `Hypothesis`; its attention weights are not needed.

    Returns:
        A list of `AttentionView`, see `hypothesis_views`. The views of a recurrent model have no
        queries and keys.

    Raises:
        ValueError: if the sentence has no words, or the translator is an ensemble.

    Example:
        translate = kt.Translate.from_run("runs/english-german")
        hypothesis = translate.hypotheses("Good morning!", beam_size=4)[0][0]
        views = kt.translation_views(translate, hypothesis)
        kt.write_attention_page("attention.html", views, hypothesis.text)
    """
    _check_words(hypothesis)
    if isinstance(translate.model, Ensemble):
        raise ValueError(
            "An ensemble has no queries and keys of its own: use `kt.hypothesis_views`, or a "
            "`Translate` of one of its models. Received: an Ensemble"
        )
    source = _token_ids(translate.source_tokenizer, hypothesis.source_tokens)
    target = [START_ID, *_token_ids(translate.target_tokenizer, hypothesis.tokens[:-1])]
    weights, queries, keys = _record(translate.model, [np.array([x]) for x in (source, target)])
    groups = [translate.model.group_attention(x) for x in (weights, queries, keys)]
    arrays = ({kind: _stack_layers(x[kind]) for kind in x} for x in groups)
    return _named_views(hypothesis, *arrays)


def text_views(
    model: Any, tokenizer: Any, text: str, second: str | None = None
) -> list[AttentionView]:
    """Computes a view of the self-attention of a BERT for one or two texts.

    Args:
        model: a `Bert`, or a model with a `Bert` as its body, such as `EncoderClassifier`.
        tokenizer: the `WordPieceTokenizer` of the model.
        text: the first text.
        second: the second text. Defaults to `None`.

    Returns:
        A list of one `AttentionView`, with queries and keys, and segments if there are two texts.

    Raises:
        ValueError: if the texts are longer than the sequence length of the model.

    Example:
        >>> tokenizer = kt.WordPieceTokenizer.train(["a cat", "a dog"], min_count=1)
        >>> settings = kt.BlockSettings(h=2, d_model=8, d_ff=8, n=1)
        >>> model = kt.Bert(tokenizer.vocab_size, 8, settings)
        >>> model.build((None, None))
        >>> (view,) = kt.text_views(model, tokenizer, "a cat")
        >>> view.key_tokens
        ['[CLS]', 'a', 'cat', '[SEP]']
        >>> view.weights.shape  # layers, heads, queries, keys
        (1, 2, 4, 4)
    """
    body = getattr(model, "body", model)
    ids, segments = tokenizer.add_special_tokens(
        tokenizer.encode(text).ids, None if second is None else tokenizer.encode(second).ids
    )
    if len(ids) > body.seq_length:
        raise ValueError(
            f"The model takes at most {body.seq_length} tokens: shorten the text. "
            f"Received: {len(ids)} tokens"
        )
    inputs = [np.array([x], "int32") for x in (ids, segments)]
    recorded = _record(body, inputs[0] if body.num_segments is None else inputs)
    weights, queries, keys = (_stack_layers(x.values()) for x in recorded)
    tokens, name = tokenizer.tokens(ids), "encoder: self-attention"
    segments = None if second is None else segments
    return [AttentionView(name, tokens, tokens, weights, queries, keys, segments=segments)]


def _record(model, inputs):
    """Returns the weights, queries and keys of a forward pass, each as a dictionary by layer.

    With a sliding window, queries and keys are left out: the page does not know what it hides.
    """
    with record_attention() as weights:
        model(inputs)
    has_window = getattr(getattr(model, "settings", None), "window", None) is not None
    calls = [] if has_window else weights.inputs
    queries = Recording([(layer, queries) for layer, (queries, _) in calls])
    keys = Recording([(layer, _keys_of_heads(*pair)) for layer, pair in calls])
    return weights, queries, keys


def _keys_of_heads(queries, keys):
    """Returns the keys of each head of the queries, if there are heads."""
    return repeat_heads(keys, queries) if len(queries.shape) == 4 else keys


def _stack_layers(layers):
    """Stacks the arrays of n layers for a batch of one: n times (1, N, …) -> (n, N, …)."""
    if not layers:  # none was recorded
        return None
    return np.stack([ops.convert_to_numpy(ops.cast(x[0], "float32")) for x in layers])


def _named_views(hypothesis, weights, queries=None, keys=None):
    source, target = map(_display_tokens, (hypothesis.source_tokens, hypothesis.tokens))
    # The position that writes token t has read token t - 1, which is its own key.
    read = [SPECIAL_TOKENS[START_ID], *target[:-1]]
    tokens = {"encoder": (source, source), "causal": (read, read), "cross": (target, source)}
    return [
        AttentionView(
            _VIEW_NAMES[kind],
            *tokens[kind],
            weights[kind],
            (queries or {}).get(kind),
            (keys or {}).get(kind),
            causal=kind == "causal",
        )
        for kind in tokens
        if kind in weights
    ]


def _display_tokens(tokens):
    return [token.removeprefix("▁") for token in tokens]


def _token_ids(tokenizer, tokens):
    ids = {token: i for i, token in enumerate(tokenizer.tokens(range(tokenizer.vocab_size)))}
    return [ids[token] for token in tokens]


def _check_words(hypothesis):
    if len(hypothesis.source_tokens) == 1:  # only the end token
        raise ValueError(
            "There is no attention to show: the sentence has no words. "
            f"Received: {hypothesis.text!r}"
        )


def _view_data(view):
    """Returns a view as JSON data for attention_page.html."""
    shape = (len(view.query_tokens), len(view.key_tokens))
    return {
        "name": view.name,
        "queryTokens": list(view.query_tokens),
        "keyTokens": list(view.key_tokens),
        "weights": _rounded(view, "weights", shape).tolist(),
        "causal": bool(view.causal),
        "vectors": _vectors_data(view),
        "segments": _segments_data(view),
    }


def _segments_data(view):
    if view.segments is None:
        return None
    segments = list(view.segments)
    count = len(segments)
    if set(segments) != {0, 1} or not count == len(view.query_tokens) == len(view.key_tokens):
        raise ValueError(
            f"The segments of {view.name!r} must be a 0 or 1 for each token of two texts, which "
            f"are queries and keys at once. Received: {segments} for {len(view.query_tokens)} "
            f"query tokens and {len(view.key_tokens)} key tokens"
        )
    return [int(segment) for segment in segments]


def _vectors_data(view):
    if (view.queries is None) != (view.keys is None):
        missing = "queries" if view.queries is None else "keys"
        raise ValueError(f"Give both queries and keys, or neither. Received: no {missing}")
    if view.queries is None:
        return None
    heads = np.shape(view.weights)[:2]
    queries = _rounded(view, "queries", (len(view.query_tokens), None), heads)
    keys = _rounded(view, "keys", (len(view.key_tokens), queries.shape[-1]), heads)
    return {"queries": queries.tolist(), "keys": keys.tolist()}


def _rounded(view, name, shape, heads=(None, None)):
    """Checks and rounds one array of a view; None in a shape stands for any size except 0."""
    array, expected = np.asarray(getattr(view, name), "float64"), (*heads, *shape)
    matches = array.ndim == len(expected) and all(
        size == other if other else size > 0
        for size, other in zip(array.shape, expected, strict=True)
    )
    if not matches:
        raise ValueError(
            f"The {name} of {view.name!r} must have the shape (layers, heads, "
            f"{', '.join('size' if x is None else str(x) for x in shape)}), because the view has "
            f"{len(view.query_tokens)} query tokens and {len(view.key_tokens)} key tokens. "
            f"Received: {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"The {name} of {view.name!r} must be finite. Received: NaN or infinity")
    return np.round(array, _DECIMALS)
