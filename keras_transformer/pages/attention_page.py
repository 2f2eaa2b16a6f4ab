"""Attention as a page for the browser."""

import json
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.special_tokens import SPECIAL_TOKENS, START_ID
from keras_transformer.layers.record_attention import record_attention, record_vectors

_KINDS = {
    "encoder": "encoder: the sentence reads itself",
    "causal": "decoder: each token to be chosen reads those before",
    "cross": "cross: each token to be chosen reads the sentence",
}
_DATA = "$data"  # where the page has its data
_DECIMALS = 3
# So that no text of a token can end the script element that it stands in.
_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&"})


class AttentionView(NamedTuple):
    """What some tokens attended to, in every layer and head.

    Shape letters: n layers, N heads, T query length, S key length.

    Args:
        name: what it is called where there are several.
        query_tokens: T texts, those that attend.
        key_tokens: S texts, those that are attended to.
        weights: float (n, N, T, S).
        queries: None, or the vectors that the weights are computed from, (n, N, T, d_k).
        keys: likewise, (n, N, S, d_k).
        causal: whether query t may attend to the keys up to t only.
    """

    name: str
    query_tokens: list
    key_tokens: list
    weights: Any
    queries: Any = None
    keys: Any = None
    causal: bool = False


def write_attention_page(path, views, title):
    """Writes attention as one HTML file to look at in a browser, which needs nothing beside it.

    Lines join the tokens; one chooses the layer and the heads and points at a token to see its
    weights. Where a view has queries and keys, a second picture shows how they make the weights.
    All numbers are rounded to three decimals.

    Args:
        path: the file to write.
        views: a list of `AttentionView`.
        title: what stands above it.

    Raises:
        OSError: if the file cannot be written; what was there before is then unharmed.
        ValueError: if there is no view, or its arrays do not fit its tokens or are not finite.
    """
    page = make_attention_page(views, title)
    with atomic_replace(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def make_attention_page(views, title):
    """The text of the page that `write_attention_page` writes."""
    if not views:
        raise ValueError(f"There is no attention to show. Received: views={views}")
    data = {"title": str(title), "views": [_view_data(view) for view in views]}
    # Everything beyond ASCII is escaped as well, the line ends U+2028 and U+2029 included.
    text = json.dumps(data, separators=(",", ":")).translate(_ESCAPES)
    page = resources.files("keras_transformer.pages").joinpath("attention_page.html")
    before, after = page.read_text(encoding="utf-8").split(_DATA)
    return before + text + after


def hypothesis_views(hypothesis):
    """What a translator attended to in its search.

    Args:
        hypothesis: a `Hypothesis` with its attention.

    Returns:
        A list of `AttentionView`: encoder, decoder and cross, as far as the model has them.

    Raises:
        ValueError: if the hypothesis has no attention.
    """
    if hypothesis.attention is None:
        _check_words(hypothesis)
        raise ValueError(
            "There is no attention to show: translate with `return_attention=True`. "
            f"Received: {hypothesis.text!r}"
        )
    return _named_views(hypothesis, hypothesis.attention)


def translation_views(translate, hypothesis):
    """What a translator attends to when it reads a translation at once, queries and keys included.

    Args:
        translate: the `Translate` that has found it.
        hypothesis: a `Hypothesis`; it needs no attention.

    Returns:
        See `hypothesis_views`; the views of a recurrent model have no queries and keys.

    Raises:
        ValueError: if the sentence has no words.
    """
    _check_words(hypothesis)
    source = _ids_of(translate.source_tokenizer, hypothesis.source_tokens)
    target = [START_ID, *_ids_of(translate.target_tokenizer, hypothesis.tokens[:-1])]
    weights, queries, keys = _record(translate.model, [np.array([x]) for x in (source, target)])
    names = [translate.model.group_attention(x) for x in (weights, queries, keys)]
    arrays = ({kind: _stack(x[kind]) for kind in x} for x in names)
    return _named_views(hypothesis, *arrays)


def text_views(model, tokenizer, text, second=None):
    """What an encoder of texts attends to.

    Args:
        model: a `Bert`, or a model with such a body, such as `EncoderClassifier`.
        tokenizer: its `WordPieceTokenizer`.
        text: the text.
        second: another text to read after it; None if there is none.

    Returns:
        A list of one `AttentionView`, with queries and keys.

    Raises:
        ValueError: if the texts are longer than the model can read.
    """
    body = getattr(model, "body", model)
    ids, segments = tokenizer.add_special_tokens(
        tokenizer.encode(text).ids, None if second is None else tokenizer.encode(second).ids
    )
    if len(ids) > body.seq_length:
        raise ValueError(
            f"The model reads {body.seq_length} tokens at most: shorten the text. "
            f"Received: {len(ids)} tokens"
        )
    inputs = [np.array([x], "int32") for x in (ids, segments)]
    recorded = _record(body, inputs[0] if body.num_segments is None else inputs)
    weights, queries, keys = (_stack(x.values()) for x in recorded)
    tokens = tokenizer.tokens(ids)
    return [AttentionView("encoder: the text reads itself", tokens, tokens, weights, queries, keys)]


def _record(model, inputs):
    """The weights, queries and keys of a forward pass: dictionaries from the attention layer."""
    with record_attention() as weights, record_vectors() as vectors:
        model(inputs)
    queries, keys = ({layer: pair[i] for layer, pair in vectors.items()} for i in (0, 1))
    return weights, queries, keys


def _stack(layers):
    """Of a batch of one: (1, N, …) for each layer -> (n, N, …)."""
    return np.stack([ops.convert_to_numpy(ops.cast(x[0], "float32")) for x in layers])


def _named_views(hypothesis, weights, queries=None, keys=None):
    source, target = _texts(hypothesis.source_tokens), _texts(hypothesis.tokens)
    read = [SPECIAL_TOKENS[START_ID], *target[:-1]]
    tokens = {"encoder": (source, source), "causal": (target, read), "cross": (target, source)}
    return [
        AttentionView(
            _KINDS[kind],
            *tokens[kind],
            weights[kind],
            (queries or {}).get(kind),
            (keys or {}).get(kind),
            causal=kind == "causal",
        )
        for kind in tokens
        if kind in weights
    ]


def _texts(tokens):
    return [token.removeprefix("▁") for token in tokens]


def _ids_of(tokenizer, tokens):
    ids = {token: i for i, token in enumerate(tokenizer.tokens(range(tokenizer.vocab_size)))}
    return [ids[token] for token in tokens]


def _check_words(hypothesis):
    if len(hypothesis.source_tokens) == 1:  # the end
        raise ValueError(
            "There is no attention to show: the sentence has no words. "
            f"Received: {hypothesis.text!r}"
        )


def _view_data(view):
    """A view as the page reads it."""
    shape = (len(view.query_tokens), len(view.key_tokens))
    return {
        "name": view.name,
        "queryTokens": list(view.query_tokens),
        "keyTokens": list(view.key_tokens),
        "weights": _numbers(view, "weights", shape).tolist(),
        "causal": bool(view.causal),
        "vectors": _vectors_data(view),
    }


def _vectors_data(view):
    if (view.queries is None) != (view.keys is None):
        missing = "queries" if view.queries is None else "keys"
        raise ValueError(f"A view has both queries and keys, or neither. Received: no {missing}")
    if view.queries is None:
        return None
    heads = np.shape(view.weights)[:2]
    queries = _numbers(view, "queries", (len(view.query_tokens), None), heads)
    keys = _numbers(view, "keys", (len(view.key_tokens), queries.shape[-1]), heads)
    return {"queries": queries.tolist(), "keys": keys.tolist()}


def _numbers(view, name, shape, heads=(None, None)):
    """One array of a view, checked and rounded; None stands for any size but 0."""
    array, wanted = np.asarray(getattr(view, name), "float64"), (*heads, *shape)
    fits = array.ndim == len(wanted) and all(
        size == other if other else size > 0
        for size, other in zip(array.shape, wanted, strict=True)
    )
    if not fits:
        raise ValueError(
            f"The {name} of {view.name!r} must have the shape (layers, heads, "
            f"{', '.join('size' if x is None else str(x) for x in shape)}), for it has "
            f"{len(view.query_tokens)} query tokens and {len(view.key_tokens)} key tokens. "
            f"Received: {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"The {name} of {view.name!r} must be finite. Received: NaN or infinity")
    return np.round(array, _DECIMALS)
