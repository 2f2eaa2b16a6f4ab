"""Plots are complete for any number of runs, epochs, tokens and heads."""

import io
import itertools
import os
import re

import keras
import numpy as np
import pytest
from quick import some_of

from keras_transformer import (
    BlockSettings,
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    RunFolder,
    TransformerModel,
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
    plot_attention_distance,
    plot_attention_weights,
    plot_forecast,
    plot_layer,
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


def loss_curves_svg(histories, tmp_path):
    """Returns the loss curves as SVG, in which Matplotlib writes each text as a comment."""
    plot_losses(histories, tmp_path / "curves.svg")
    return (tmp_path / "curves.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("histories", HISTORIES.values(), ids=HISTORIES)
def test_loss_curves_are_written_as_png(tmp_path, histories):
    plot_losses(histories, tmp_path / "curves.png")
    image = (tmp_path / "curves.png").read_bytes()
    assert image.startswith(b"\x89PNG\r\n\x1a\n") and image.endswith(b"IEND\xaeB`\x82")
    assert len(image) > 10_000
    assert os.listdir(tmp_path) == ["curves.png"]


def test_best_epoch_is_labeled(tmp_path):
    assert "best 2.50 in epoch 2" in loss_curves_svg(HISTORIES["one run"], tmp_path)


def test_each_run_is_labeled(tmp_path):
    found = loss_curves_svg(HISTORIES["two runs"], tmp_path)
    for text in ("first: training", "first: validation", "second: training", "second: validation"):
        assert text in found
    for text in ("best 2.50 in epoch 2", "best 4.00 in epoch 2"):
        assert text in found


def fit(validation=True, epochs=4, **options):
    """Returns the `History` of a model with a metric."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    x = np.linspace(-1, 1, 16).reshape(8, 2)
    options["validation_data"] = (x, x[:, :1]) if validation else None
    return model.fit(x, x[:, :1], epochs=epochs, verbose=0, **options)


def lines_of(axes):
    """Returns the points of the lines of axes."""
    return [np.transpose(line.get_data()).tolist() for line in axes.lines]


def test_what_fit_returns_is_plotted():
    fitted = fit()
    for histories in (fitted, fitted.history):
        loss, mae = plot_losses(histories)
        for axes, name in ((loss, "loss"), (mae, "mae")):
            for line, column in zip(axes.lines, (name, f"val_{name}"), strict=False):
                assert line.get_xdata().tolist() == [1, 2, 3, 4]
                assert line.get_ydata().tolist() == fitted.history[column]
        assert (loss.get_ylabel(), mae.get_ylabel()) == ("loss", "mae")


def test_epochs_of_fit_are_those_of_training():
    fitted = fit(initial_epoch=2, validation_freq=2, epochs=6)
    loss, _ = plot_losses(fitted)
    assert [[x for x, _ in line] for line in lines_of(loss)[:2]] == [[3, 4, 5, 6], [4, 6]]


@pytest.mark.parametrize("columns", [["loss"], ["loss", "learning_rate"], ["loss", "mae"]])
def test_there_are_axes_only_for_what_was_recorded(columns):
    axes = plot_losses({name: [3.0, 2.0] for name in columns})
    assert [x.get_ylabel() for x in axes] == [name.replace("_", " ") for name in columns]
    assert all(lines_of(x) == [[[1, 3.0], [2, 2.0]]] for x in axes)
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["training"]


def test_runs_and_fits_are_compared(tmp_path):
    run = [{**row, "tokens_per_second": 1.0, "seconds": 1.0} for row in RUN]
    RunFolder(tmp_path).write_history(run)
    axes = plot_losses(tmp_path)
    assert axes[0].get_title() == tmp_path.name and len(axes) == 3
    assert list(map(lines_of, axes)) == list(map(lines_of, plot_losses(run)))
    loss, *_ = plot_losses({"run": str(tmp_path), "fit": fit(validation=False)})
    assert len(loss.lines) == 4  # of the run also the validation and the mark of its best epoch


@pytest.mark.parametrize(
    "histories",
    [{}, [], None, 3, [0.5], {"run": []}, {"first": RUN, "second": []}, {"accuracy": [0.5]}],
)
def test_empty_histories_are_refused(tmp_path, histories):
    with pytest.raises(ValueError, match="nothing to plot"):
        plot_losses(histories, tmp_path / "curves.png")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("fails", ["os.replace", "os.fsync"])
def test_write_error_keeps_the_old_file(tmp_path, monkeypatch, fails):
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
    image = (tmp_path / "attention.svg").read_text(encoding="utf-8")
    return re.findall("<!-- (.*?) -->", image)


@pytest.mark.parametrize(
    ("sizes", "min_size", "max_size"),
    [
        ((1, 1), (200, 200), (500, 500)),
        ((2, 7), (200, 200), (500, 500)),
        ((9, 1, 2, 1), (200, 500), (500, 1000)),
        ((20, 15, 2, 3), (3 * 15 * 25, 2 * 20 * 25), (2000, 2000)),  # space for each label
        # Limited by the maximum size of a figure.
        pytest.param((300, 2, 2, 1), (200, 8000), (500, 9000), marks=pytest.mark.slow),
        pytest.param((2, 270, 1, 8), (8000, 200), (9000, 500), marks=pytest.mark.exhaustive),
    ],
    ids=str,
)
def test_attention_of_any_size_is_drawn(tmp_path, sizes, min_size, max_size):
    plot_attention(make_hypothesis(*sizes), tmp_path / "attention.png")
    image = (tmp_path / "attention.png").read_bytes()
    assert image.startswith(b"\x89PNG\r\n\x1a\n") and image.endswith(b"IEND\xaeB`\x82")
    width, height = (int.from_bytes(image[i : i + 4], "big") for i in (16, 20))
    assert min_size[0] < width <= max_size[0] and min_size[1] < height <= max_size[1]
    assert os.listdir(tmp_path) == ["attention.png"]


@pytest.mark.slow
def test_every_second_token_of_a_very_long_sentence_is_labeled(tmp_path):
    """700 tokens side by side have 0.084 inches each, and a label needs 0.1."""
    found = attention_texts(make_hypothesis(1, 350, heads=2), tmp_path)
    assert [found.count(f"s{i}") for i in range(349)] == [2, 0] * 174 + [2]


def test_every_token_and_head_is_labeled(tmp_path):
    found = attention_texts(make_hypothesis(3, 4, layers=2, heads=3), tmp_path)
    for layer in (1, 2):
        for head in (1, 2, 3):
            assert found.count(f"layer {layer}, head {head}") == 1
    # Tokens are labeled below the last row of panels and left of the first column.
    assert [found.count(word) for word in ("s0", "s1", "s2")] == [3, 3, 3]
    assert [found.count(word) for word in ("t0", "t1")] == [2, 2]
    assert found.count("[END]") == 3 + 2
    assert {"word of the source", "word being written", "attention weight"} <= set(found)


def test_math_characters_are_drawn_literally(tmp_path):
    hypothesis = make_hypothesis(3, 2)
    hypothesis.tokens[:2] = ["▁$", "_"]
    hypothesis.source_tokens[0] = "▁10$x^$"  # as a formula it would be wrong
    assert {"$", "_", "10$x^$"} <= set(attention_texts(hypothesis, tmp_path))


def test_the_suffix_of_a_file_is_its_format(tmp_path):
    history = HISTORIES["one run"]
    plot_losses(history, tmp_path / "curves")
    assert (tmp_path / "curves").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"plot\.png, \.svg or \.pdf\. Received: .*curves\.v1$"):
        plot_losses(history, tmp_path / "curves.v1")
    assert os.listdir(tmp_path) == ["curves"]


def test_attention_plot_depends_on_the_weights(tmp_path):
    images = []
    for row in ([1, 0], [1, 0], [0, 1]):
        weights = np.array(row, "float32").reshape((1, 1, 1, 2))
        plot_attention(make_hypothesis(1, 2, weights=weights), tmp_path / "attention.png")
        images.append((tmp_path / "attention.png").read_bytes())
    assert images[0] == images[1] != images[2]


def test_hypothesis_without_attention_is_refused(tmp_path):
    hypothesis = make_hypothesis(2, 2)._replace(attention=None)
    with pytest.raises(ValueError, match=r"`return_attention=True`\. Received: 't'$"):
        plot_attention(hypothesis, tmp_path / "attention.png")
    nothing = Hypothesis("", 0.0, ["[END]"], ["[END]"])  # the hypothesis of an empty sentence
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
    "grayscale": {},
    "one patch": {"image_size": 2},
    "color": {"channels": 3, "image_size": (8, 12), "patch_size": 4},
    "many channels": {"channels": 5, "d_model": 200},
}


@pytest.mark.slow
@pytest.mark.parametrize("plot", (plot_patch_filters, plot_position_similarity))
@pytest.mark.parametrize("options", some_of(VITS, quick=("color", "one patch")))
def test_vision_transformer_plots_are_written_as_png(tmp_path, plot, options):
    plot(make_vit(**options), tmp_path / "image.png")
    image = (tmp_path / "image.png").read_bytes()
    assert image.startswith(b"\x89PNG\r\n\x1a\n") and image.endswith(b"IEND\xaeB`\x82")
    assert os.listdir(tmp_path) == ["image.png"]


@pytest.mark.slow
def test_number_of_filters_is_limited(tmp_path):
    for count, shown in ((64, 20), (5, 5)):
        plot_patch_filters(make_vit(), tmp_path / "filters.svg", count)
        image = (tmp_path / "filters.svg").read_text(encoding="utf-8")
        assert f"<!-- patch filters, {shown} of 20 -->" in image
        assert image.count("<image ") == shown + 1  # and the color bar


def test_attention_distances_are_weighted_means():
    """With weights of zero, all patches are alike; 4 patches: distances 0, 2, 2 and 2√2."""
    model = make_vit(image_size=4)
    model.set_weights([0 * w for w in model.get_weights()])
    axes = plot_attention_distance(model, np.ones((2, 4, 4, 1), "float32"))
    *heads, uniform = axes.lines
    expected = (0 + 2 + 2 + 2 * 2**0.5) / 4
    assert len(heads) == 2
    for line in (*heads, uniform):
        np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-6)


def test_each_patch_has_a_similarity_map(tmp_path):
    plot_position_similarity(make_vit((6, 8)), tmp_path / "positions.svg")
    image = (tmp_path / "positions.svg").read_text(encoding="utf-8")
    assert image.count("<image ") == 3 * 4 + 1
    assert "<!-- cosine similarity -->" in image


@pytest.mark.slow
@pytest.mark.parametrize(
    "plot",
    (
        pytest.param(plot_patch_filters, marks=pytest.mark.exhaustive),
        plot_position_similarity,
    ),
)
def test_vision_transformer_plots_depend_on_the_weights(tmp_path, plot):
    images, model = [], make_vit()
    for layer_weights in (1, 1, 2):
        random = np.random.default_rng(layer_weights)
        weights = [random.normal(size=w.shape) for w in model.embedding.weights]
        model.embedding.set_weights(weights)
        plot(model, tmp_path / "image.png")
        images.append((tmp_path / "image.png").read_bytes())
    assert images[0] == images[1] != images[2]


# Block diagrams

SIZES = BlockSettings(h=2, d_model=8, d_ff=16, norm_first=True)


def vectors(length):
    return keras.Input((length, 8))


def ids(length):
    return keras.Input((length,), dtype="int32")


DIAGRAMS = {
    "encoder layer": lambda: plot_layer(EncoderLayer(settings=SIZES), vectors(7)),
    "decoder layer": lambda: plot_layer(DecoderLayer(settings=SIZES), vectors(7), vectors(5)),
    "attention": lambda: plot_layer(MultiHeadAttention(2, 4, 4, 8), *map(vectors, (7, 5, 5))),
    "model": lambda: plot_layer(TransformerModel(9, 11, settings=SIZES), (ids(5), ids(7))),
    "one operation": lambda: plot_layer(keras.layers.Dense(3), keras.Input((8,))),
}


def texts_of(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def test_a_block_diagram_shows_layers_and_shapes():
    axes = DIAGRAMS["decoder layer"]()
    assert axes.get_title().startswith("decoder_layer")
    assert sorted(texts_of(axes)) == sorted(
        [
            "input (B, 7, 8)",
            "input (B, 5, 8)",
            *(f"add_norm_{i}_before\nLayerNormalization (B, 7, 8)" for i in (1, 2, 3)),
            *(f"add_norm_{i}\nAddNormalization (B, 7, 8)" for i in (1, 2, 3)),
            *(f"{kind}_attention\nMultiHeadAttention (B, 7, 8)" for kind in ("self", "cross")),
            "feed_forward\nFeedForward (B, 7, 8)",
        ]
    )
    arrows = [text for text in axes.texts if not text.get_text()]
    assert len(arrows) == 13  # ten along the column, the source, and three residual connections
    assert len(axes.lines) == 3  # the residual connections pass the sub-layer


def test_an_input_with_a_name_is_labeled_with_it():
    axes = plot_layer(EncoderLayer(settings=SIZES), keras.Input((7, 8), name="words"))
    assert "words (B, 7, 8)" in texts_of(axes)


@pytest.mark.parametrize("name", DIAGRAMS)
def test_boxes_of_a_block_diagram_do_not_overlap_and_hold_their_text(name):
    axes = DIAGRAMS[name]()
    axes.figure.savefig(io.BytesIO())  # computes the layout
    boxes = [patch.get_window_extent() for patch in axes.patches]
    assert len(boxes) == len(texts_of(axes))
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    labels = [text.get_window_extent() for text in axes.texts if text.get_text()]
    for box, label in zip(boxes, labels, strict=True):
        assert box.x0 <= label.x0 and label.x1 <= box.x1
        assert box.y0 <= label.y0 and label.y1 <= box.y1


# All plots

WORDS = ["Donaudampfschifffahrt", "[PAD]", "a", "Krankenversicherungen", "$x$", "_"]
WEIGHTS = np.full((1, 2, 6, 6), 1 / 6)
IMAGE = np.ones((1, 8, 8, 1), "float32")
PLOTS = {
    "losses": lambda path=None: plot_losses({"run": RUN}, path),
    "schedules": lambda path=None: plot_schedules({"small": WarmupSchedule(8, 9)}, 30, path),
    "attention": lambda path=None: plot_attention(make_hypothesis(3, 4), path),
    "weights": lambda path=None: plot_attention_weights(WEIGHTS, WORDS, WORDS, path),
    "alignments": lambda path=None: plot_alignments({"a": make_hypothesis(3, 4)}, path),
    "layer": lambda path=None: plot_layer(EncoderLayer(settings=SIZES), vectors(7), path=path),
    "masks": lambda path=None: plot_masks({"causal": causal_mask(6)}, WORDS, path),
    "positions": lambda path=None: plot_positions(sinusoidal_encoding(9, 8), path),
    "forecast": lambda path=None: plot_forecast([0.1, 0.4], {"predicted": [0.2, 0.3]}, path),
    "filters": lambda path=None: plot_patch_filters(make_vit(), path),
    "attention distance": lambda path=None: plot_attention_distance(make_vit(), IMAGE, path),
    "position similarity": lambda path=None: plot_position_similarity(make_vit(), path),
}


def first_axes(axes):
    return np.ravel(axes)[0]


@pytest.mark.parametrize("plot", some_of(PLOTS, quick=("masks", "forecast")))
def test_plots_return_axes_and_write_only_if_given_a_path(tmp_path, monkeypatch, plot):
    monkeypatch.chdir(tmp_path)
    assert first_axes(plot()).figure.axes
    assert os.listdir(tmp_path) == []
    plot(tmp_path / "image.png")
    assert os.listdir(tmp_path) == ["image.png"]


def test_figure_can_be_shown_in_a_notebook():
    assert plot_masks({"causal": causal_mask(3)})[0].figure._repr_png_().startswith(b"\x89PNG")


def overlapping(labels):
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    return [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]


@pytest.mark.parametrize("number", some_of({"6": 6, "12": 12, "20": 20}, quick=("20",)))
@pytest.mark.parametrize("name", ("weights", "alignments", "masks"))
def test_labels_do_not_overlap(name, number):
    """Six to twenty tokens, including German words of twenty letters."""
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
    for panel in np.ravel(axes):
        for axis in (panel.xaxis, panel.yaxis):
            labels = axis.get_ticklabels()
            assert not labels or len(labels) == number
            assert not overlapping(labels)


def test_masks_show_the_allowed_positions():
    ids = np.array([[4, 5, 0]])
    masks = {"padding": padding_mask(ids), "causal": causal_mask(3)}
    padding, causal = plot_masks(masks)
    rows = [
        np.asarray(axes.collections[0].get_array()).reshape(-1, 3) for axes in (padding, causal)
    ]
    np.testing.assert_array_equal(rows[0], [[1, 1, 0]])
    np.testing.assert_array_equal(rows[1][::-1], np.tril(np.ones((3, 3))))  # drawn bottom to top
    assert [axes.get_title() for axes in (padding, causal)] == ["padding", "causal"]


def test_alignments_average_layers_and_heads():
    weights = np.zeros((1, 2, 1, 2))
    weights[0, 0, 0, 0] = weights[0, 1, 0, 1] = 1
    (axes,) = plot_alignments({"run": make_hypothesis(1, 2, weights=weights)})
    np.testing.assert_array_equal(axes.images[0].get_array(), [[0.5, 0.5]])


def test_positions_are_drawn_unscaled_as_heat_map_and_scaled_as_waves():
    encoding = np.array(sinusoidal_encoding(9, 8))
    heat_map, waves = plot_positions(encoding)
    np.testing.assert_array_equal(heat_map.images[0].get_array(), encoding)
    np.testing.assert_allclose(waves.lines[0].get_ydata(), encoding[:, 0] / np.abs(encoding).max())


def test_schedules_are_drawn_from_the_first_step_to_the_last():
    schedule = WarmupSchedule(16, 10)
    line = plot_schedules({"run": schedule}, 40).lines[0]
    np.testing.assert_array_equal(line.get_xdata(), range(41))
    expected = [float(schedule(step)) for step in range(41)]
    np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        (lambda: plot_schedules({}, 3), "nothing to plot"),
        (lambda: plot_forecast([], {}), "at least one number"),
        (lambda: plot_forecast([1.0], {"a": [1.0, 2.0]}), "a prediction of each"),
        (lambda: plot_schedules({"a": WarmupSchedule(8, 9)}, 0), "steps"),
        (lambda: plot_attention_weights(WEIGHTS, WORDS, "ab"), "T and S names"),
        (lambda: plot_attention_weights(WEIGHTS[0], WORDS, WORDS), "layers, heads"),
        (lambda: plot_alignments({}), "nothing to plot"),
        (lambda: plot_masks({}), "at least one mask"),
        (lambda: plot_masks({"a": np.ones(3, bool)}), r"mask of shape \(T, S\)"),
        (lambda: plot_masks({"a": np.ones((2, 1, 3), bool)}), r"mask of shape \(T, S\)"),
        (lambda: plot_positions(np.ones(3)), "matrix"),
        (lambda: plot_layer(EncoderLayer(settings=SIZES)), "keras.Input"),
        (lambda: plot_layer(EncoderLayer(settings=SIZES), np.ones((1, 7, 8))), "keras.Input"),
    ],
)
def test_bad_arguments_are_refused(plot, message):
    with pytest.raises(ValueError, match=f"{message}.*Received: "):
        plot()


def test_a_run_folder_shows_updates_and_warm_up(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    history = [{**row, "tokens_per_second": 9, "seconds": 1.0} for row in RUN]
    run.write_history(history)
    rates = [1e-4, 2e-4, 3e-4, 2e-4, 1e-4, 0]
    run.write_curve([[10 * i, 6 / i, rate] for i, rate in enumerate(rates, start=1)])
    losses, accuracy, learning_rate = plot_losses(run.path)
    assert "warm-up" in [text.get_text() for text in losses.get_legend().get_texts()]
    curve, means, *_ = losses.get_lines()
    np.testing.assert_allclose(curve.get_xdata(), np.arange(1, 7) / 2)  # 20 updates per epoch
    assert list(means.get_xdata()) == [1, 2, 3]
    spans = [axes.patches[0].get_width() for axes in (losses, accuracy, learning_rate)]
    assert spans == [1.5] * 3
    figure = loss_curves_svg({"a": run.path, "b": RUN}, tmp_path)
    assert "warm-up" not in figure and "every few updates" not in figure
