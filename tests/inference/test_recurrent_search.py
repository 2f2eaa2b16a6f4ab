"""Search with recurrent models, whose state differs from the KV cache of the Transformer."""

import tempfile

import keras
import numpy as np
import pytest
from layer_contract import numpy
from quick import some_of
from tiny import PAIRS, make_batches, make_dataset
from translating import ids_of, log_likelihoods, reference_greedy_translate

from keras_transformer import RecurrentTranslator, Trainer, Translate, plot_attention
from keras_transformer._utils.special_tokens import START_ID

pytestmark = pytest.mark.slow

SENTENCES = ["one two", "five", "three three one", "two five four one", "four one"]


@pytest.fixture(scope="module", params=some_of(("bahdanau", "luong"), quick=["luong"]))
def trained(request):
    """A dataset, a model trained on it, and its `Translate`."""
    keras.utils.set_random_seed(1)
    dataset = make_dataset()
    sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    model = RecurrentTranslator(*sizes, 32, 32, rate=0.0, attention=request.param)
    model.build(((None, None), (None, None)))
    with tempfile.TemporaryDirectory() as folder:
        Trainer(model, keras.optimizers.Adam(0.01), folder).train(*make_batches(dataset), 20)
    translate = Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
    return dataset, model, translate


def test_model_learns_the_language(trained):
    _, _, translate = trained
    sources, targets = zip(*PAIRS, strict=True)
    translations = translate(sources)
    correct = [found == target for found, target in zip(translations, targets, strict=True)]
    assert np.mean(correct) > 0.9


def test_greedy_search_equals_search_without_cache(trained):
    dataset, model, translate = trained
    assert translate(SENTENCES) == reference_greedy_translate(model, dataset, SENTENCES)


@pytest.mark.parametrize("beam_size", (1, 3))
def test_scores_are_log_likelihoods(trained, beam_size):
    dataset, model, translate = trained
    options = {"beam_size": beam_size, "n_best": beam_size, "length_penalty": 0.0}
    found = [x for some in translate.hypotheses(SENTENCES, **options) for x in some]
    assert len(found) == beam_size * len(SENTENCES)
    expected = log_likelihoods(model, dataset, found)
    np.testing.assert_allclose([x.score for x in found], expected, rtol=1e-3, atol=1e-4)


def test_samples_do_not_depend_on_the_batch(trained):
    _, _, translate = trained
    options = {"temperature": 2.0, "n_best": 2, "seed": 3}
    batched = translate.hypotheses(SENTENCES, **options)
    alone = translate.hypotheses("five", **options)
    assert [x.text for x in batched[1]] == [x.text for x in alone[0]]


def test_prefixes_are_kept(trained):
    _, _, translate = trained
    assert translate("one two three", prefixes="vier").startswith("vier")


@pytest.mark.parametrize("beam_size", (1, 3))
def test_attention_weights_equal_those_of_the_model(trained, beam_size, tmp_path):
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
