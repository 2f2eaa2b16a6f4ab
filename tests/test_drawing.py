"""The figures of an architecture and of a sentence show the numbers of the model itself."""

import re
from dataclasses import replace

import keras
import numpy as np
import pytest
from matplotlib.colors import to_hex
from tiny import make_dataset
from translating import make_translate, shared_translate

from keras_transformer import (
    Bert,
    BlockSettings,
    FeedForward,
    Forecaster,
    RecurrentTranslator,
    TransformerLanguageModel,
    TransformerModel,
    VisionTransformer,
    draw,
    draw_sentence,
)

SMALL = BlockSettings(h=2, d_model=8, d_ff=12, n=1, norm_first=True)
DRAWN = {
    "transformer": (lambda: TransformerModel(9, 11, settings=SMALL), (None, None)),
    "tied": (lambda: TransformerModel(9, 11, settings=SMALL, tie_output=True), (None, None)),
    "post_norm": (
        lambda: TransformerModel(9, 9, settings=replace(SMALL, norm_first=False)),
        (None, None),
    ),
    "recurrent": (lambda: RecurrentTranslator(9, 11, 8, 8, 0.0), (None, None)),
    "luong": (lambda: RecurrentTranslator(9, 9, 8, 8, 0.0, attention="luong"), (None, None)),
    "language_model": (lambda: TransformerLanguageModel(9, 7, SMALL), None),
    "bert": (lambda: Bert(9, 7, SMALL), None),
    "vision": (lambda: VisionTransformer(8, 4, num_classes=3, settings=SMALL), (8, 8, 3)),
}


def drawn(name):
    make, sizes = DRAWN[name]
    model = make()
    shape = ((None, None), (None, None)) if sizes == (None, None) else (None, *(sizes or (None,)))
    model.build(shape)
    return model, draw(model)


def numbers_in(axes):
    texts = [text.get_text() for text in axes.texts]
    found = [re.search(r"(?:^|· )([\d,]+)$", x) for x in texts if not x.startswith("(")]
    return [int(x[1].replace(",", "")) for x in found if x]


@pytest.mark.parametrize("name", DRAWN)
def test_the_numbers_of_the_boxes_sum_to_the_parameters_of_the_model(name):
    model, axes = drawn(name)
    assert sum(numbers_in(axes)) == model.count_params()
    assert f"{model.count_params():,} parameters" in axes.get_title()


def test_equal_layers_are_drawn_once_and_replaced_parts_stand_out(tmp_path):
    model = TransformerModel(9, 11, settings=replace(SMALL, n=5))
    model.encoder.layers[3].feed_forward = FeedForward(12, 8, activation="silu")
    model.build(((None, None), (None, None)))
    axes = draw(model, tmp_path / "model.svg")
    texts = [text.get_text() for text in axes.texts]
    assert [x for x in texts if "×" in x] == ["3 ×", "5 ×"]  # 3, 1, 1; and the decoder
    assert sum("FeedForward" in x for x in texts) == 1
    colors = [to_hex(patch.get_facecolor()).upper() for patch in axes.patches]
    assert colors.count("#D55E00") == 1
    assert "<svg" in (tmp_path / "model.svg").read_text(encoding="utf-8")


def test_the_figure_of_a_model_is_readable_on_a_phone():
    _, axes = drawn("transformer")
    pixels = 390 / axes.figure.get_size_inches()[0]  # per inch
    assert min(text.get_fontsize() for text in axes.texts) / 72 * pixels > 7


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match=r"Build the model first.*Received: .*, not built$"):
        draw(TransformerModel(9, 11, settings=SMALL))
    dense, forecaster = keras.layers.Dense(3), Forecaster(2, 20)
    dense.build((None, 2))
    forecaster.build((None, 20, 1))
    for other in (dense, forecaster):
        with pytest.raises(ValueError, match=rf"Received: {type(other).__name__}$"):
            draw(other)


def test_the_weights_of_a_sentence_are_those_of_the_search(tmp_path):
    translate = shared_translate()
    hypothesis = translate.hypotheses("one two three", return_attention=True)[0][0]
    figure = draw_sentence(translate, "one two three", position=1, path=tmp_path / "x.png")
    weights = hypothesis.attention["cross"][-1, 0, 1]
    _, bars, _, words = figure.axes
    np.testing.assert_allclose([bar.get_height() for bar in bars.patches], weights, atol=1e-4)
    found = [label.get_text() for label in words.get_yticklabels()]
    assert found[-1] == hypothesis.tokens[1].removeprefix("▁")  # the most probable one is on top
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    for name, message in (("position", r"positions 0 to \d\."), ("layer", ""), ("head", "")):
        with pytest.raises(ValueError, match=rf"{message} Received: {name}=99$"):
            draw_sentence(translate, "one two three", **{name: 99})


def test_a_head_of_a_group_has_the_values_of_the_group():
    settings = BlockSettings(h=4, h_kv=2, d_model=8, d_ff=8, n=1)
    dataset = make_dataset()
    sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    model = TransformerModel(*sizes, settings=settings)
    model.build(((None, None), (None, None)))
    translate = make_translate(model)
    shown = []
    for head in range(-4, 4):
        axes = draw_sentence(translate, "one two", head=head).axes[2]
        assert f"head {head % 4 + 1}" in axes.figure.axes[1].get_title("left")
        # Three tokens, then the mixture.
        shown.append([x.get_text() for i, x in enumerate(axes.texts) if i % 4 < 3])
    assert shown[:4] == shown[4:]
    assert shown[0] == shown[1] != shown[2] == shown[3]
