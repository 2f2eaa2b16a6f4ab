"""The attention page contains the attention weights of the model and escapes all text."""

import html
import json
import os
import re

import numpy as np
import pytest
from keras import ops
from translating import make_translate, shared_translate

from keras_transformer import (
    Bert,
    BlockSettings,
    EncoderClassifier,
    RecurrentTranslator,
    WordPieceTokenizer,
    record_attention,
)
from keras_transformer.inference.translate import Hypothesis
from keras_transformer.pages.attention_page import (
    AttentionPage,
    AttentionView,
    hypothesis_views,
    text_views,
    translation_views,
    write_attention_page,
)

TEXTS = ["the train leaves at seven", "anna has the tickets"]
SIZES = {"h": 2, "d_k": 3, "d_v": 5, "d_model": 8, "d_ff": 8, "n": 3, "rate": 0.1}


def make_view(queries=("a", "b"), keys=("x", "y", "z"), layers=2, heads=3):
    weights = np.random.dirichlet(np.ones(len(keys)), (layers, heads, len(queries)))
    return AttentionView("view", queries, keys, weights)


def vectors(tokens, layers=2, heads=3, size=4):
    return np.random.normal(size=(layers, heads, tokens, size))


def write_and_parse(tmp_path, views, title="title"):
    """Writes a page; returns its HTML and the JSON data embedded in it."""
    write_attention_page(tmp_path / "page.html", views, title)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    return page, json.loads(data[1])


def compute_weights(view):
    """Computes the attention weights from the queries and keys of a view."""
    scores = view.queries @ view.keys.swapaxes(-1, -2) / np.sqrt(view.keys.shape[-1])
    if view.causal:
        scores[..., np.triu(np.ones(scores.shape[-2:], bool), 1)] = -np.inf
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


def test_page_data_match_the_views(tmp_path):
    first = make_view()
    second = make_view()._replace(name="other", queries=vectors(2), keys=vectors(3), causal=True)
    _, data = write_and_parse(tmp_path, [first, second], "A → B")
    assert data["title"] == "A → B"
    assert [view["name"] for view in data["views"]] == ["view", "other"]
    assert [view["causal"] for view in data["views"]] == [False, True]
    for found, view in zip(data["views"], (first, second), strict=True):
        assert found["queryTokens"] == ["a", "b"] and found["keyTokens"] == ["x", "y", "z"]
        assert found["weights"] == np.round(view.weights, 3).tolist()
    assert data["views"][0]["vectors"] is None
    assert data["views"][1]["vectors"] == {
        "queries": np.round(second.queries, 3).tolist(),
        "keys": np.round(second.keys, 3).tolist(),
    }


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "<!--<script>", "a & b", "\u2028\u2029", "$data"]
)
def test_text_is_escaped(tmp_path, text):
    reference, _ = write_and_parse(tmp_path, [make_view(("", "b"))], "")
    view = make_view((text, "b"))._replace(name=text)
    page, data = write_and_parse(tmp_path, [view], text)
    assert data["title"] == data["views"][0]["name"] == data["views"][0]["queryTokens"][0] == text
    for character in "<>&\u2028\u2029":
        assert page.count(character) == reference.count(character)


def frame_of(page):
    """Returns the attributes of the frame that a notebook shows, and what is around them."""
    text = page._repr_html_()
    found = re.fullmatch(r'<iframe ((?: ?[\w-]+="[^"]*")+)>([^<>]*)</iframe>', text)
    attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', found[1]))
    return {name: html.unescape(value) for name, value in attributes.items()}


@pytest.mark.parametrize(
    "text", ["title", "</iframe><script>alert(1)</script>", '" onload="x', "&"]
)
def test_a_notebook_shows_the_same_page_in_an_isolated_frame(tmp_path, text):
    view = make_view((text, "b"))
    page, _ = write_and_parse(tmp_path, [view], text)
    frame = frame_of(AttentionPage([view], text, height=321))
    assert frame.pop("srcdoc") == page
    assert frame["sandbox"] == "allow-scripts" and frame["height"] == "321"
    assert set(frame) == {"title", "sandbox", "width", "height", "style"}
    assert repr(AttentionPage([view], text)) == f"<AttentionPage {text!r}>"


@pytest.mark.parametrize("height", [0, -1, 2.5, '1" onload="x'])
def test_an_invalid_height_is_refused(height):
    with pytest.raises(ValueError, match=r"positive int\. Received: height="):
        AttentionPage([make_view()], "title", height)


def test_a_page_with_all_heads_of_two_layers_fits_in_a_notebook():
    tokens = [f"token {i}" for i in range(10)]
    views = [make_view(tokens, tokens, layers=2, heads=4)] * 3
    assert len(AttentionPage(views, "title")._repr_html_()) < 60_000


def test_page_makes_no_requests(tmp_path):
    page, _ = write_and_parse(tmp_path, [make_view()])
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|@import|url\(|<script[^>]+src|innerHTML|fetch\(", page)


def test_the_page_of_a_long_sentence_is_small(tmp_path):
    tokens = [f"token {i}" for i in range(60)]
    page, _ = write_and_parse(tmp_path, [make_view(tokens, tokens, layers=6, heads=8)])
    assert len(page) < 6.5 * 6 * 8 * 60 * 60


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": np.ones((2, 3, 2, 4))}, r"\(layers, heads, 2, 3\).*Received: \(2, 3, 2, 4\)$"),
        ({"weights": np.ones((2, 3, 3, 2))}, r"weights of 'view'.*Received: \(2, 3, 3, 2\)$"),
        ({"weights": np.ones((3, 2, 3))}, r"Received: \(3, 2, 3\)$"),
        ({"weights": np.ones((0, 3, 2, 3))}, r"Received: \(0, 3, 2, 3\)$"),
        ({"weights": np.full((2, 3, 2, 3), np.nan)}, r"must be finite\. Received: NaN"),
        ({"query_tokens": [], "weights": np.ones((2, 3, 0, 3))}, r"Received: \(2, 3, 0, 3\)$"),
        ({"queries": vectors(2)}, r"both queries and keys, or neither\. Received: no keys$"),
        ({"keys": vectors(3)}, r"Received: no queries$"),
        ({"queries": vectors(3), "keys": vectors(3)}, r"queries of .* 2, size\)"),
        (
            {"queries": vectors(2), "keys": vectors(3, size=5)},
            r"keys of .* \(2, 3, 3, 5\)$",
        ),
        ({"queries": vectors(2, heads=1), "keys": vectors(3)}, r"Received: \(2, 1, 2, 4\)$"),
        ({"segments": [0, 1]}, r"Received: \[0, 1\] for 2 query tokens and 3 key tokens$"),
        ({"segments": [0, 0, 1]}, r"Received: \[0, 0, 1\] for 2 query tokens and 3 key"),
        ({"key_tokens": ["x", "y"], "weights": np.ones((2, 3, 2, 2)), "segments": [0, 0]}, "0, 0"),
        ({"key_tokens": ["x", "y"], "weights": np.ones((2, 3, 2, 2)), "segments": [1, 2]}, "1, 2"),
    ],
)
def test_invalid_views_are_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        write_attention_page(tmp_path / "page.html", [make_view()._replace(**changes)], "title")
    with pytest.raises(ValueError, match=r"at least one view\. Received: views=\[\]$"):
        write_attention_page(tmp_path / "page.html", iter([]), "title")
    assert os.listdir(tmp_path) == []


def test_failed_write_keeps_the_old_page(tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError("disk full")

    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="is unchanged"):
        write_attention_page(path, [make_view()], "title")
    assert path.read_text() == "old" and os.listdir(tmp_path) == [path.name]


# Translators


@pytest.fixture(scope="module")
def hypothesis():
    return shared_translate().hypotheses("one two three", return_attention=True)[0][0]


def test_hypothesis_views_contain_its_attention(hypothesis):
    views = hypothesis_views(hypothesis)
    source, target = ["one", "two", "three", "[END]"], [*hypothesis.text.split(), "[END]"]
    read = ["[START]", *target[:-1]]
    tokens = [(source, source), (read, read), (target, source)]
    assert [(view.query_tokens, view.key_tokens) for view in views] == tokens
    for view, kind in zip(views, ("encoder", "causal", "cross"), strict=True):
        assert view.weights is hypothesis.attention[kind]
        assert view.name.startswith("decoder" if kind == "causal" else kind)
        assert view.queries is view.keys is None and view.causal == (kind == "causal")


def test_a_head_that_sees_only_its_own_word_is_labeled_so():
    attention = {"causal": np.eye(3)[None, None], "cross": np.eye(3)[None, None, :, [0, 2, 1]]}
    hypothesis = Hypothesis("ein Haus", 0.0, ["▁ein", "▁Haus", "[END]"], list("abc"), attention)
    found = {}
    for view in hypothesis_views(hypothesis):
        columns = view.weights[0, 0].argmax(axis=-1)
        found[view.name.split(":")[0]] = [
            (query, view.key_tokens[i]) for query, i in zip(view.query_tokens, columns, strict=True)
        ]
    own = ["[START]", "ein", "Haus"]  # the words that are read
    assert found["decoder"] == list(zip(own, own, strict=True))
    assert found["cross"] == [("ein", "a"), ("Haus", "c"), ("[END]", "b")]


def test_full_forward_pass_reproduces_the_attention_of_the_search(hypothesis):
    views = translation_views(shared_translate(), hypothesis._replace(attention=None))
    for view, searched in zip(views, hypothesis_views(hypothesis), strict=True):
        assert view[:3] == searched[:3] and view.causal == searched.causal
        np.testing.assert_allclose(view.weights, searched.weights, atol=1e-4)
        np.testing.assert_allclose(compute_weights(view), view.weights, atol=1e-5)


@pytest.mark.parametrize("attention", ["bahdanau", "luong"])
def test_a_recurrent_translator_has_no_vectors(attention, tmp_path):
    tokenizers = (shared_translate().source_tokenizer, shared_translate().target_tokenizer)
    sizes = [tokenizer.vocab_size for tokenizer in tokenizers]
    model = RecurrentTranslator(*sizes, 8, 8, 0.0, attention=attention)
    model.build(((None, None), (None, None)))
    translate = make_translate(model)
    hypothesis = translate.hypotheses("one two", return_attention=True)[0][0]
    (view,), (searched,) = translation_views(translate, hypothesis), hypothesis_views(hypothesis)
    np.testing.assert_allclose(view.weights, searched.weights, atol=1e-4)
    assert view.queries is view.keys is None
    write_and_parse(tmp_path, [view])


def test_hypothesis_without_attention_is_refused(hypothesis):
    with pytest.raises(ValueError, match=r"`return_attention=True`\. Received: '\w+ .+'$"):
        hypothesis_views(hypothesis._replace(attention=None))
    empty = Hypothesis("", 0.0, ["[END]"], ["[END]"])  # the translation of an empty sentence
    for views in (hypothesis_views, lambda x: translation_views(shared_translate(), x)):
        with pytest.raises(ValueError, match=r"the sentence has no words\. Received: ''$"):
            views(empty)


# Texts


TOKENIZER = WordPieceTokenizer.train(TEXTS, min_count=1)


def make_bert(**options):
    model = Bert(TOKENIZER.vocab_size, 16, BlockSettings(**SIZES), **options)
    model.build((None, None))
    return model


@pytest.mark.parametrize("options", [{}, {"num_segments": None, "pooler": None}], ids=str)
def test_text_view_contains_the_encoder_attention(options):
    (view,) = text_views(make_bert(**options), TOKENIZER, *TEXTS)
    first, second = (text.split() for text in TEXTS)
    assert view.query_tokens == view.key_tokens == ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
    assert view.weights.shape == (3, 2, 12, 12) and view.queries.shape == (3, 2, 12, 3)
    np.testing.assert_allclose(compute_weights(view), view.weights, atol=1e-5)
    assert view.segments == [0] * 7 + [1] * 5  # the first text with [CLS] and its [SEP]
    (alone,) = text_views(make_bert(**options), TOKENIZER, TEXTS[0])
    assert alone.query_tokens == view.query_tokens[:7] and alone.segments is None


def test_the_page_keeps_the_weights_of_the_layers_and_the_segments(tmp_path):
    model = make_bert()
    views = text_views(model, TOKENIZER, *TEXTS)
    ids, segments = TOKENIZER.add_special_tokens(*(TOKENIZER.encode(x).ids for x in TEXTS))
    with record_attention() as recorded:
        model([np.array([ids]), np.array([segments])])
    expected = np.stack([ops.convert_to_numpy(weights)[0] for weights in recorded.values()])
    _, data = write_and_parse(tmp_path, views)
    (found,) = data["views"]
    np.testing.assert_allclose(found["weights"], expected, atol=6e-4)
    assert found["segments"] == segments


def test_classifier_shows_the_attention_of_its_body():
    classifier = EncoderClassifier(make_bert(), 2)
    classifier.build((None, None))
    views = [text_views(model, TOKENIZER, *TEXTS)[0] for model in (classifier, classifier.body)]
    np.testing.assert_array_equal(views[0].weights, views[1].weights)


def test_half_precision_models_are_supported(tmp_path):
    with np.errstate(all="raise"):
        views = text_views(make_bert(dtype="mixed_bfloat16"), TOKENIZER, TEXTS[0])
    _, data = write_and_parse(tmp_path, views)
    sums = np.sum(data["views"][0]["weights"], axis=-1)
    np.testing.assert_allclose(sums, 1, atol=0.02)


def test_a_text_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match=r"takes at most 16 tokens.*Received: 27 tokens$"):
        text_views(make_bert(), TOKENIZER, " ".join([TEXTS[0]] * 5))


def test_queries_and_keys_are_left_out_with_a_window():
    """The page would show their products for keys that the window hides."""
    for window, expected in ((None, False), (2, True)):
        settings = BlockSettings(h=2, d_model=8, d_ff=8, n=1, window=window)
        model = Bert(TOKENIZER.vocab_size, 16, settings)
        model.build((None, None))
        (view,) = text_views(model, TOKENIZER, TEXTS[0])
        assert (view.queries is None) == (view.keys is None) == expected
