"""Number of shapes that `Translate` traces or compiles, and compilation by XLA."""

import random

import keras
import pytest
from tiny import make_dataset, make_model
from translating import make_translate, shared_translate

from keras_transformer import TransformerModel
from keras_transformer.data.batches import bucket_length
from keras_transformer.inference.model_search import probe

ON_TENSORFLOW = keras.config.backend() == "tensorflow"
# On TensorFlow without XLA, the first call runs without a graph, and the second one traces it.
TRACES = 2 if ON_TENSORFLOW else 1
only_tensorflow = pytest.mark.skipif(not ON_TENSORFLOW, reason="others have no choice")
ON_TORCH = keras.config.backend() == "torch"


@pytest.fixture
def traced():
    """A model, and the list of source shapes for which it was traced."""
    if ON_TORCH:
        pytest.skip("PyTorch traces nothing")
    shapes = []

    class TracedModel(TransformerModel):
        def encode(self, encoder_input, training=None):
            if encoder_input.shape != probe(self)["source"].shape:
                shapes.append(tuple(encoder_input.shape))
            return super().encode(encoder_input, training=training)

    return make_model(make_dataset(), model_class=TracedModel), shapes


def sentences_of(lengths):
    return [" ".join((["one", "two", "three"] * length)[:length]) for length in lengths]


def test_each_shape_is_compiled_once(traced):
    model, shapes = traced
    translate = make_translate(model)
    translate("one two")
    assert len(shapes) == 1
    translate("two one")
    translate(["three one"])
    translate("five", "")  # an empty prefix counts as no prefix
    assert len(shapes) == TRACES


@pytest.mark.every_backend
@pytest.mark.slow
def test_many_lengths_need_few_shapes(traced):
    model, shapes = traced
    translate = make_translate(model, batch_tokens=48)
    lengths = [length for length in range(1, 12) for _ in range(8)]
    random.Random(0).shuffle(lengths)
    found = translate(sentences_of(lengths))
    assert len(found) == 88
    first = len(shapes)
    buckets = {bucket_length(length + 1) for length in lengths}
    assert len(buckets) == 4  # 4, 6, 8, 12
    assert first == TRACES if ON_TENSORFLOW else first <= len(buckets)
    translate(sentences_of(lengths[::-1]))
    assert len(shapes) == first


@pytest.mark.exhaustive
def test_many_numbers_of_sentences_need_few_shapes(traced):
    model, shapes = traced
    translate = make_translate(model)
    for number in (1, 2, 3, 4, 5, 9, 16, 17, 40, 64):
        translate(sentences_of([2] * number))
    if ON_TENSORFLOW:
        assert shapes == [(1, 4), (None, None)]
    else:
        assert shapes == [(1, 4), (4, 4), (16, 4), (64, 4)]


@pytest.mark.exhaustive
def test_seed_and_length_ratios_do_not_recompile(traced):
    model, shapes = traced
    translate = make_translate(model)
    options = {"temperature": 1.0, "max_length_ratio": 2.0}
    first = translate("one two", **options)
    others = {translate("one two", **options, seed=seed) for seed in range(1, 9)}
    assert others - {first}
    translate("one two", temperature=1.0, min_length_ratio=1.0, max_length_ratio=2)
    assert len(shapes) == TRACES


@pytest.mark.exhaustive
def test_scores_do_not_recompile_a_beam_search(traced):
    model, shapes = traced
    translate = make_translate(model)
    for _ in range(2):
        translate("one two", beam_size=2)
        translate.hypotheses("one two", beam_size=2)
    assert len(shapes) == TRACES


@pytest.mark.exhaustive
@only_tensorflow
def test_xla_gives_the_same_result(traced):
    sentences = [source for source, _ in make_dataset().test]
    with_xla = make_translate(jit_compile=True)
    for options in ({}, {"beam_size": 3, "n_best": 2}):
        expected = shared_translate().hypotheses(sentences, **options)
        for found, without in zip(with_xla.hypotheses(sentences, **options), expected, strict=True):
            assert [x.tokens for x in found] == [x.tokens for x in without]
            scores = [x.score for x in without]
            assert [x.score for x in found] == pytest.approx(scores, abs=1e-4)


@pytest.mark.every_backend
@pytest.mark.skipif(ON_TENSORFLOW, reason="TensorFlow can run with and without XLA")
def test_jit_compile_is_refused_where_there_is_no_choice():
    message = "PyTorch.*compiles nothing" if ON_TORCH else "JAX always compiles"
    with pytest.raises(ValueError, match=message):
        make_translate(jit_compile=ON_TORCH)
