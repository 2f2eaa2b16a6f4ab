"""From sentences to sentences."""

import copy

import numpy as np
import pytest
from keras import ops
from tiny import make_batches, make_dataset, make_model, make_trainer

from keras_transformer import RunConfig, RunFolder, TransformerModel, Translate
from keras_transformer.data.tokenizers import encode_source
from keras_transformer.special_tokens import END_ID, START_ID


@pytest.fixture(scope="module")
def dataset():
    return make_dataset()


@pytest.fixture(scope="module")
def model(dataset, tmp_path_factory):
    """A model that has learned something: an untrained one says the same of everything."""
    trainer = make_trainer(dataset, tmp_path_factory.mktemp("run"), rate=0.0)
    trainer.train(*make_batches(dataset), 8)
    return trainer.model


@pytest.fixture(scope="module")
def translate(model, dataset):
    return Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)


def translate_plainly(model, dataset, sentence):
    """Greedy search as one would write it first: the whole model again for each word."""
    source = np.array([encode_source(dataset.source_tokenizer, sentence)], "int32")
    target = [START_ID]
    while target[-1] != END_ID and len(target) < 20:
        logits = ops.convert_to_numpy(model((source, np.array([target], "int32"))))[0, -1]
        logits[:END_ID] = -np.inf
        target.append(int(logits.argmax()))
    return dataset.target_tokenizer.decode(target)


def test_it_is_greedy_search_over_the_model(model, dataset, translate):
    sources = [source for source, _ in dataset.test]
    assert len(set(translate(sources))) > 5
    assert translate(sources) == [translate_plainly(model, dataset, x) for x in sources]


def test_one_in_one_out_many_in_many_out(translate):
    alone = translate("two three")
    assert isinstance(alone, str) and alone
    assert translate(["two three"]) == [alone]
    assert translate(("two three", "one")) == [alone, translate("one")]
    assert translate([]) == []


def test_neighbours_change_nothing(translate, dataset):
    sources = [source for source, _ in dataset.test[:5]]
    alone = [translate(source) for source in sources]
    assert translate(sources) == alone
    assert translate(sources[::-1]) == alone[::-1]


def test_the_input_is_not_changed(translate):
    sentences = ["  Two   three ", "", "one"]
    before = copy.deepcopy(sentences)
    translate(sentences)
    assert sentences == before


@pytest.mark.parametrize("empty", ["", " ", "\n\t"])
def test_nothing_is_translated_to_nothing(translate, empty):
    assert translate(empty) == ""
    assert translate(["one", empty])[1] == ""


@pytest.mark.parametrize("sentence", ["seven", "one 🙂 two", "[END] one", "ONE", "x" * 5000, "¿?"])
def test_unknown_words_and_signs_are_translated_somehow(translate, sentence):
    translation = translate(sentence)
    assert isinstance(translation, str)
    assert "[" not in translation  # no special token


def test_a_very_long_sentence_is_refused(translate):
    with pytest.raises(ValueError, match=r"Sentence 2 is too long: split it.*10,000 tokens"):
        translate(["one", "one " * 10_000])


def test_a_sentence_longer_than_any_seen_is_translated(translate):
    assert translate("one two three four five " * 6)


@pytest.mark.parametrize("other", [None, 5, b"one", ["one", 2], {"one": 1}])
def test_anything_but_sentences_is_refused(translate, other):
    with pytest.raises(TypeError, match="Give a sentence or a list of sentences"):
        translate(other)


def test_other_tokenizers_are_refused(model, dataset):
    class Other:
        vocab_size = 99

    with pytest.raises(ValueError, match="Received: tokenizers of 99 and"):
        Translate(model, Other(), dataset.target_tokenizer)


def test_it_can_be_had_from_a_run(dataset, tmp_path):
    config = RunConfig(d_model=32, d_ff=64, n=1, h=2, max_length=8)
    run = RunFolder(tmp_path)
    run.create(config, dataset)
    model = make_model(dataset)
    run.write_weights(model)
    from_run = Translate.from_run(tmp_path)
    given = Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
    sentences = ["one two", "five"]
    assert from_run(sentences) == given(sentences)


def test_a_shape_is_compiled_once(dataset):
    calls = []

    class Counted(TransformerModel):
        def encode(self, encoder_input, training=None):
            calls.append(encoder_input.shape)
            return super().encode(encoder_input, training=training)

    model = make_model(dataset, model_class=Counted)
    translate = Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
    translate("one two")
    traced = len(calls)
    translate("two one")
    translate(["three one"])
    assert len(calls) == traced
