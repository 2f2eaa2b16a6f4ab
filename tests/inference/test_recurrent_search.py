"""The search over a recurrent model: the same as over a transformer, whose cache is another."""

import tempfile

import keras
import numpy as np
import pytest
from layer_contract import numpy
from quick import some_of
from tiny import PAIRS, make_batches, make_dataset
from translating import ids_of, log_likelihoods, translate_plainly

from keras_transformer import RecurrentTranslator, Trainer, Translate, plot_attention
from keras_transformer._utils.special_tokens import START_ID

pytestmark = pytest.mark.slow

SENTENCES = ["one two", "five", "three three one", "two five four one", "four one"]


@pytest.fixture(scope="module", params=some_of(("bahdanau", "luong"), quick=["luong"]))
def trained(request):
    """A model that has learned the language of numbers, and its translator."""
    keras.utils.set_random_seed(1)
    dataset = make_dataset()
    sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    model = RecurrentTranslator(*sizes, 32, 32, rate=0.0, attention=request.param)
    model.build(((None, None), (None, None)))
    with tempfile.TemporaryDirectory() as folder:
        Trainer(model, keras.optimizers.Adam(0.01), folder).train(*make_batches(dataset), 20)
    translate = Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
    return dataset, model, translate


def test_the_language_is_learned(trained):
    _, _, translate = trained
    right = np.mean(
        [
            translation == want
            for translation, want in zip(
                translate([source for source, _ in PAIRS]),
                [target for _, target in PAIRS],
                strict=True,
            )
        ]
    )
    assert right > 0.9


def test_greedy_finds_what_the_whole_model_says_word_by_word(trained):
    dataset, model, translate = trained
    assert translate(SENTENCES) == translate_plainly(model, dataset, SENTENCES)


@pytest.mark.parametrize("beam_size", (1, 3))
def test_scores_are_log_likelihoods(trained, beam_size):
    dataset, model, translate = trained
    options = {"beam_size": beam_size, "n_best": beam_size, "length_penalty": 0.0}
    found = [x for some in translate.hypotheses(SENTENCES, **options) for x in some]
    assert len(found) == beam_size * len(SENTENCES)
    expected = log_likelihoods(model, dataset, found)
    np.testing.assert_allclose([x.score for x in found], expected, rtol=1e-3, atol=1e-4)


def test_samples_are_the_same_whatever_stands_beside(trained):
    _, _, translate = trained
    options = {"temperature": 2.0, "n_best": 2, "seed": 3}
    among, alone = (
        translate.hypotheses(SENTENCES, **options),
        translate.hypotheses("five", **options),
    )
    assert [x.text for x in among[1]] == [x.text for x in alone[0]]


def test_prefixes_are_kept(trained):
    _, _, translate = trained
    assert translate("one two three", prefixes="vier").startswith("vier")


@pytest.mark.parametrize("beam_size", (1, 3))
def test_attention_is_what_the_model_attends_to_when_it_reads_the_translation(
    trained, beam_size, tmp_path
):
    dataset, model, translate = trained
    some = translate.hypotheses(SENTENCES, beam_size=beam_size, return_attention=True)
    for found, *_ in some:
        assert list(found.attention) == ["cross"]
        source = np.array([ids_of(dataset.source_tokenizer, found.source_tokens)])
        target = np.array([[START_ID, *ids_of(dataset.target_tokenizer, found.tokens)[:-1]]])
        expected = numpy(model.attention_weights(source, target)["cross"][0])
        np.testing.assert_allclose(found.attention["cross"], expected, atol=1e-4)
    plot_attention(some[3][0], tmp_path / "attention.png")
    assert (tmp_path / "attention.png").stat().st_size > 1000
