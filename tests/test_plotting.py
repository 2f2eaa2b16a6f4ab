"""What pictures promise: to be whole, for any number of runs and epochs, words and heads."""

import itertools
import os
import re

import numpy as np
import pytest
from quick import some_of

from keras_transformer import (
    BlockSettings,
    WarmupSchedule,
    causal_mask,
    padding_mask,
    sinusoidal_encoding,
)
from keras_transformer.inference.translate import Hypothesis
from keras_transformer.models import VisionTransformer
from keras_transformer.plotting import (
    plot_alignments,
    plot_attention,
    plot_attention_weights,
    plot_losses,
    plot_masks,
    plot_patch_filters,
    plot_position_similarity,
    plot_positions,
    plot_schedules,
)


def make_history(validation_losses):
    return [
        {
            "epoch": epoch,
            "loss": 5 / epoch,
            "accuracy": 1 - 1 / epoch,
            "validation_loss": loss,
            "validation_accuracy": 1 - loss / 9,
            "learning_rate": 1e-4 * epoch,
        }
        for epoch, loss in enumerate(validation_losses, start=1)
    ]


RUN = make_history([4.0, 2.5, 3.0])
HISTORIES = {
    "one run": {"run": RUN},
    "two runs": {"first": RUN, "second": make_history([5.0, 4.0])},
    "one epoch": {"run": RUN[:1]},
    "read from CSV": {"run": [{name: float(x) for name, x in row.items()} for row in RUN]},
}


def texts(histories, tmp_path):
    """What is written in a picture: Matplotlib's SVG has each text as a comment."""
    plot_losses(histories, tmp_path / "curves.svg")
    return (tmp_path / "curves.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("histories", HISTORIES.values(), ids=HISTORIES)
def test_draws_a_picture(tmp_path, histories):
    plot_losses(histories, tmp_path / "curves.png")
    picture = (tmp_path / "curves.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n") and picture.endswith(b"IEND\xaeB`\x82")
    assert len(picture) > 10_000
    assert os.listdir(tmp_path) == ["curves.png"]


def test_another_history_is_another_picture(tmp_path):
    pictures = []
    for losses in ([4.0, 2.5, 3.0], [4.0, 2.5, 3.0], [4.0, 2.0, 3.0]):
        plot_losses({"run": make_history(losses)}, tmp_path / "curves.png")
        pictures.append((tmp_path / "curves.png").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


def test_says_which_epoch_was_the_best(tmp_path):
    assert "best 2.50 in epoch 2" in texts(HISTORIES["one run"], tmp_path)


def test_tells_the_runs_apart(tmp_path):
    found = texts(HISTORIES["two runs"], tmp_path)
    for text in ("first: training", "first: validation", "second: training", "second: validation"):
        assert text in found
    for text in ("best 2.50 in epoch 2", "best 4.00 in epoch 2"):
        assert text in found


@pytest.mark.parametrize("histories", [{}, {"run": []}, {"first": RUN, "second": []}])
def test_refuses_to_draw_nothing(tmp_path, histories):
    with pytest.raises(ValueError, match="nothing to plot"):
        plot_losses(histories, tmp_path / "curves.png")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("fails", ["os.replace", "os.fsync"])
def test_a_picture_that_cannot_be_written_keeps_the_last_one(tmp_path, monkeypatch, fails):
    def fail(*arguments):
        raise OSError("disk full")

    path = tmp_path / "curves.png"
    path.write_text("old")
    monkeypatch.setattr(fails, fail)
    with pytest.raises(OSError, match="is unchanged"):
        plot_losses(HISTORIES["one run"], path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == [path.name]


# Attention


def make_hypothesis(length, source_length, layers=1, heads=1, weights=None):
    tokens = [*(f"▁t{i}" for i in range(length - 1)), "[END]"]
    source_tokens = [*(f"▁s{i}" for i in range(source_length - 1)), "[END]"]
    if weights is None:
        shape = (layers, heads, length, source_length)
        weights = np.random.dirichlet(np.ones(source_length), shape[:-1]).astype("float32")
    return Hypothesis("t", -1.0, tokens, source_tokens, {"cross": weights})


def attention_texts(hypothesis, tmp_path):
    plot_attention(hypothesis, tmp_path / "attention.svg")
    picture = (tmp_path / "attention.svg").read_text(encoding="utf-8")
    return re.findall("<!-- (.*?) -->", picture)


@pytest.mark.parametrize(
    ("sizes", "least", "most"),
    [
        ((1, 1), (200, 200), (500, 500)),
        ((2, 7), (200, 200), (500, 500)),
        ((9, 1, 2, 1), (200, 500), (500, 1000)),
        ((20, 15, 2, 3), (3 * 15 * 25, 2 * 20 * 25), (2000, 2000)),  # room for each name
        # Where Matplotlib would have failed.
        pytest.param((300, 2, 2, 1), (200, 8000), (500, 9000), marks=pytest.mark.slow),
        pytest.param((2, 270, 1, 8), (8000, 200), (9000, 500), marks=pytest.mark.exhaustive),
    ],
    ids=str,
)
def test_draws_attention_of_any_size(tmp_path, sizes, least, most):
    plot_attention(make_hypothesis(*sizes), tmp_path / "attention.png")
    picture = (tmp_path / "attention.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n") and picture.endswith(b"IEND\xaeB`\x82")
    width, height = (int.from_bytes(picture[i : i + 4], "big") for i in (16, 20))
    assert least[0] < width <= most[0] and least[1] < height <= most[1]
    assert os.listdir(tmp_path) == ["attention.png"]


@pytest.mark.slow
def test_in_a_very_long_sentence_every_so_many_tokens_are_named(tmp_path):
    """Of 700 tokens beside each other each has 0.084 inches, and a name needs 0.1."""
    found = attention_texts(make_hypothesis(1, 350, heads=2), tmp_path)
    assert [found.count(f"s{i}") for i in range(349)] == [2, 0] * 174 + [2]


def test_every_token_and_every_head_has_its_name(tmp_path):
    found = attention_texts(make_hypothesis(3, 4, layers=2, heads=3), tmp_path)
    for layer in (1, 2):
        for head in (1, 2, 3):
            assert found.count(f"layer {layer}, head {head}") == 1
    # Words below the last row of pictures and left of the first column.
    assert [found.count(word) for word in ("s0", "s1", "s2")] == [3, 3, 3]
    assert [found.count(word) for word in ("t0", "t1")] == [2, 2]
    assert found.count("[END]") == 3 + 2
    assert {"source", "translation", "attention"} <= set(found)


def test_signs_of_formulas_are_drawn_as_they_are(tmp_path):
    hypothesis = make_hypothesis(3, 2)
    hypothesis.tokens[:2] = ["▁$", "_"]
    hypothesis.source_tokens[0] = "▁10$x$"
    assert {"$", "_"} <= set(attention_texts(hypothesis, tmp_path))


def test_other_attention_is_another_picture(tmp_path):
    pictures = []
    for row in ([1, 0], [1, 0], [0, 1]):
        weights = np.array(row, "float32").reshape((1, 1, 1, 2))
        plot_attention(make_hypothesis(1, 2, weights=weights), tmp_path / "attention.png")
        pictures.append((tmp_path / "attention.png").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


def test_refuses_to_draw_attention_that_was_not_asked_for(tmp_path):
    hypothesis = make_hypothesis(2, 2)._replace(attention=None)
    with pytest.raises(ValueError, match=r"`return_attention=True`\. Received: 't'$"):
        plot_attention(hypothesis, tmp_path / "attention.png")
    nothing = Hypothesis("", 0.0, ["[END]"], ["[END]"])  # what an empty sentence is translated to
    with pytest.raises(ValueError, match=r"the sentence has no words\. Received: ''$"):
        plot_attention(nothing, tmp_path / "attention.png")
    assert os.listdir(tmp_path) == []


# Vision transformers


def make_vit(image_size=8, patch_size=2, channels=1, d_model=20):
    settings = BlockSettings(h=2, d_model=d_model, d_ff=8, rate=0.0)
    model = VisionTransformer(image_size, patch_size, 3, settings)
    model.build((None, *model.embedding.image_size, channels))
    return model


VITS = {
    "grey": {},
    "one patch": {"image_size": 2},
    "colour": {"channels": 3, "image_size": (8, 12), "patch_size": 4},
    "many channels": {"channels": 5, "d_model": 200},
}


@pytest.mark.parametrize("plot", (plot_patch_filters, plot_position_similarity))
@pytest.mark.parametrize("options", some_of(VITS, quick=("colour", "one patch")))
def test_draws_what_a_vision_transformer_has_learned(tmp_path, plot, options):
    plot(make_vit(**options), tmp_path / "picture.png")
    picture = (tmp_path / "picture.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n") and picture.endswith(b"IEND\xaeB`\x82")
    assert os.listdir(tmp_path) == ["picture.png"]


def test_draws_no_more_filters_than_asked_for(tmp_path):
    for count, shown in ((64, 20), (5, 5)):
        plot_patch_filters(make_vit(), tmp_path / "filters.svg", count)
        picture = (tmp_path / "filters.svg").read_text(encoding="utf-8")
        assert f"<!-- patch filters, {shown} of 20 -->" in picture
        assert picture.count("<image ") == shown + 1  # and the scale


def test_draws_a_picture_of_similarity_for_each_patch(tmp_path):
    plot_position_similarity(make_vit((6, 8)), tmp_path / "positions.svg")
    picture = (tmp_path / "positions.svg").read_text(encoding="utf-8")
    assert picture.count("<image ") == 3 * 4 + 1
    assert "<!-- cosine similarity -->" in picture


@pytest.mark.parametrize(
    "plot",
    (
        pytest.param(plot_patch_filters, marks=pytest.mark.exhaustive),
        plot_position_similarity,
    ),
)
def test_other_weights_are_another_picture(tmp_path, plot):
    pictures, model = [], make_vit()
    for layer_weights in (1, 1, 2):
        random = np.random.default_rng(layer_weights)
        weights = [random.normal(size=w.shape) for w in model.embedding.weights]
        model.embedding.set_weights(weights)
        plot(model, tmp_path / "picture.png")
        pictures.append((tmp_path / "picture.png").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


# All of them

WORDS = ["Donaudampfschifffahrt", "[PAD]", "a", "Krankenversicherungen", "$x$", "_"]
WEIGHTS = np.full((1, 2, 6, 6), 1 / 6)
PLOTS = {
    "losses": lambda path=None: plot_losses({"run": RUN}, path),
    "schedules": lambda path=None: plot_schedules({"small": WarmupSchedule(8, 9)}, 30, path),
    "attention": lambda path=None: plot_attention(make_hypothesis(3, 4), path),
    "weights": lambda path=None: plot_attention_weights(WEIGHTS, WORDS, WORDS, path),
    "alignments": lambda path=None: plot_alignments({"a": make_hypothesis(3, 4)}, path),
    "masks": lambda path=None: plot_masks({"causal": causal_mask(6)}, WORDS, path),
    "positions": lambda path=None: plot_positions(sinusoidal_encoding(9, 8), path),
    "filters": lambda path=None: plot_patch_filters(make_vit(), path),
    "position similarity": lambda path=None: plot_position_similarity(make_vit(), path),
}


def first_axes(axes):
    return np.ravel(axes)[0]


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
def test_returns_its_axes_and_writes_only_if_asked_to(tmp_path, monkeypatch, plot):
    monkeypatch.chdir(tmp_path)
    assert first_axes(plot()).figure.axes
    assert os.listdir(tmp_path) == []
    plot(tmp_path / "picture.png")
    assert os.listdir(tmp_path) == ["picture.png"]


def test_a_notebook_shows_the_figure():
    assert plot_masks({"causal": causal_mask(3)})[0].figure._repr_png_().startswith(b"\x89PNG")


def overlapping(labels):
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    return [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]


@pytest.mark.parametrize("number", some_of({"6": 6, "12": 12, "20": 20}, quick=("20",)))
@pytest.mark.parametrize("name", ("weights", "alignments", "masks"))
def test_no_two_names_overlap(name, number):
    """Six to twenty tokens, German words of twenty letters among them."""
    words = [(WORDS * 4)[i] for i in range(number)]
    weights = np.full((2, 3, number, number), 1 / number)
    hypothesis = Hypothesis("t", -1.0, words, words, {"cross": weights})
    axes = {
        "weights": lambda: plot_attention_weights(weights, words, words),
        "alignments": lambda: plot_alignments({"first": hypothesis, "second": hypothesis}),
        "masks": lambda: plot_masks({"causal": causal_mask(number)}, words),
    }[name]()
    figure = first_axes(axes).figure
    figure.canvas.draw()
    for drawn in np.ravel(axes):
        for axis in (drawn.xaxis, drawn.yaxis):
            labels = axis.get_ticklabels()
            assert not labels or len(labels) == number
            assert not overlapping(labels)


def test_masks_show_who_may_attend():
    ids = np.array([[4, 5, 0]])
    masks = {"padding": padding_mask(ids), "causal": causal_mask(3)}
    padding, causal = plot_masks(masks)
    rows = [
        np.asarray(axes.collections[0].get_array()).reshape(-1, 3) for axes in (padding, causal)
    ]
    np.testing.assert_array_equal(rows[0], [[1, 1, 0]])
    np.testing.assert_array_equal(rows[1][::-1], np.tril(np.ones((3, 3))))  # drawn from below
    assert [axes.get_title() for axes in (padding, causal)] == ["padding", "causal"]


def test_alignments_are_the_mean_of_layers_and_heads():
    weights = np.zeros((1, 2, 1, 2))
    weights[0, 0, 0, 0] = weights[0, 1, 0, 1] = 1
    (axes,) = plot_alignments({"run": make_hypothesis(1, 2, weights=weights)})
    np.testing.assert_array_equal(axes.images[0].get_array(), [[0.5, 0.5]])


def test_positions_are_drawn_as_they_are():
    encoding = np.array(sinusoidal_encoding(9, 8))
    heat_map, waves = plot_positions(encoding)
    np.testing.assert_array_equal(heat_map.images[0].get_array(), encoding)
    np.testing.assert_allclose(waves.lines[0].get_ydata(), encoding[:, 0] / np.abs(encoding).max())


def test_schedules_are_drawn_from_the_first_update_to_the_last():
    schedule = WarmupSchedule(16, 10)
    line = plot_schedules({"run": schedule}, 40).lines[0]
    np.testing.assert_array_equal(line.get_xdata(), range(41))
    expected = [float(schedule(step)) for step in range(41)]
    np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        (lambda: plot_schedules({}, 3), "nothing to plot"),
        (lambda: plot_schedules({"a": WarmupSchedule(8, 9)}, 0), "steps"),
        (lambda: plot_attention_weights(WEIGHTS, WORDS, "ab"), "T and S names"),
        (lambda: plot_attention_weights(WEIGHTS[0], WORDS, WORDS), "layers, heads"),
        (lambda: plot_alignments({}), "nothing to plot"),
        (lambda: plot_masks({}), "at least one mask"),
        (lambda: plot_masks({"a": np.ones(3, bool)}), r"mask of shape \(T, S\)"),
        (lambda: plot_positions(np.ones(3)), "matrix"),
    ],
)
def test_refuses_what_cannot_be_drawn(plot, message):
    with pytest.raises(ValueError, match=f"{message}.*Received: "):
        plot()
