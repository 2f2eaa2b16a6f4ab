"""Translators whose probabilities are averaged."""

import dataclasses

import keras
import numpy as np
import pytest
from layer_contract import numpy
from tiny import PAIRS, make_dataset

from keras_transformer import (
    BlockSettings,
    Ensemble,
    RecurrentTranslator,
    RunConfig,
    RunFolder,
    TransformerModel,
    Translate,
    train_run,
    write_pairs,
)
from keras_transformer.models.ensemble import numpy_model

SETTINGS = BlockSettings(h=2, d_model=16, d_ff=16, n=1)


def make_models(*seeds):
    dataset, models = make_dataset(), []
    sizes = dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size
    for seed in seeds:
        keras.utils.set_random_seed(seed)
        models.append(TransformerModel(*sizes, settings=SETTINGS))
        models[-1].build(((None, None), (None, None)))
    return models


def make_translate(model, **options):
    dataset = make_dataset()
    return Translate(model, dataset.source_tokenizer, dataset.target_tokenizer, **options)


IDS = np.array([[4, 5, 6, 3], [7, 3, 0, 0]]), np.array([[2, 4, 5], [2, 6, 7]])


@pytest.mark.slow
def test_the_probabilities_are_averaged():
    models = make_models(1, 2, 3)
    mean = np.mean([numpy(keras.ops.softmax(model(IDS))) for model in models], axis=0)
    np.testing.assert_allclose(np.exp(numpy(Ensemble(models)(IDS))), mean, rtol=1e-4)


@pytest.mark.every_backend
@pytest.mark.slow
def test_steps_match_call():
    models = make_models(1, 2)
    size = models[0].dec_vocab_size
    models.append(RecurrentTranslator(models[0].enc_vocab_size, size, d_model=8, units=8, rate=0.0))
    models[-1].build(((None, None), (None, None)))
    ensemble = Ensemble(models)
    source, target = IDS
    cache, memory = ensemble.start(source, 3)
    expected = numpy(ensemble(IDS))
    for i in range(3):
        logits, cache = ensemble.step(target[:, i], i, cache, memory)
        np.testing.assert_allclose(numpy(logits), expected[:, i], atol=1e-4)


def test_numpy_computes_the_same():
    ensemble = Ensemble(make_models(1, 2))
    copy = numpy_model(ensemble)
    state = copy.start(IDS[0].astype("int32"))
    for i, tokens in enumerate(IDS[1].T):
        found = copy.step(tokens, i, state)
        np.testing.assert_allclose(found, numpy(ensemble(IDS))[:, i], atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"beam_size": 3, "n_best": 2}, {"temperature": 1.0}])
@pytest.mark.slow
def test_every_search_translates_alike_with_numpy_and_layers(options):
    ensemble = Ensemble(make_models(1, 2))
    sentences = [source for source, _ in PAIRS[:9]]
    layers = {"jit_compile": keras.config.backend() == "jax"}
    numpy, keras_layers = (
        [[x.text for x in best] for best in translate.hypotheses(sentences, **options)]
        for translate in (make_translate(ensemble), make_translate(ensemble, **layers))
    )
    assert numpy == keras_layers


def test_an_ensemble_of_equal_models_translates_as_one():
    [model] = make_models(1)
    sentences = [source for source, _ in PAIRS[:9]]
    one, three = (make_translate(x) for x in (model, Ensemble([model] * 3)))
    assert one(sentences, beam_size=2) == three(sentences, beam_size=2)
    [[best]] = three.hypotheses(sentences[:1], return_attention=True)
    assert set(best.attention) == {"encoder", "causal", "cross"}


@pytest.mark.parametrize("engine", ["numpy", "layers"])
def test_the_shortest_limits_are_those_of_an_ensemble(engine):
    sizes = (model := make_models(1)[0]).enc_vocab_size, model.dec_vocab_size
    models = [TransformerModel(*sizes, n, n, settings=SETTINGS) for n in (9, 7)]
    for model in models:
        model.build(((None, None), (None, None)))
    translate = make_translate(Ensemble(models), engine=engine)
    word = PAIRS[0][0].split()[0]
    [[best]] = translate.hypotheses([" ".join([word] * 6)])
    assert len(best.tokens) <= 7
    with pytest.raises(ValueError, match=r"at most 6 tokens\. Received: 7"):
        translate(" ".join([word] * 7))


def test_refuses_other_vocabularies_and_single_models():
    models = [TransformerModel(9, size, settings=SETTINGS) for size in (9, 8)]
    for wrong in (models, models[:1]):
        with pytest.raises(ValueError, match=r"two or more models with vocabularies .*Received: "):
            Ensemble(wrong)


@pytest.mark.slow
def test_runs_translate_together(tmp_path):
    write_pairs(tmp_path / "pairs.tsv", [(f"{x} {i % 9}", y) for i, (x, y) in enumerate(PAIRS)])
    write_pairs(tmp_path / "held.tsv", PAIRS)
    files = {name: str(tmp_path / "held.tsv") for name in ("validation", "test")}
    files |= {"data": str(tmp_path / "pairs.tsv")}
    config = RunConfig(d_model=16, d_ff=16, h=2, n=1, epochs=1, dtype="float32", **files)
    folders = [tmp_path / name for name in "abc"]
    for seed, folder in enumerate(folders[:2]):
        train_run(dataclasses.replace(config, seed=seed), folder)
    together = Translate.from_run(folders[0], ensemble=folders[1:2])
    models = [RunFolder(folder).read_model() for folder in folders[:2]]
    assert isinstance(together.model, Ensemble)
    expected = Translate(Ensemble(models), *RunFolder(folders[0]).read_tokenizers())
    sentences = [source for source, _ in PAIRS[:9]]
    assert together(sentences) == expected(sentences)
    train_run(dataclasses.replace(config, tokenizer="bpe"), folders[2])
    with pytest.raises(ValueError, match=r"must have the same vocabularies: .*Received: .*c$"):
        Translate.from_run(folders[0], ensemble=folders[2:])
