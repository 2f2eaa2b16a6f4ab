"""CTranslate2 as an engine translates as NumPy does, with the same calls and options."""

import sys

import numpy as np
import pytest
from tiny import make_model
from translating import make_translate, shared_translate, write_run

from keras_transformer import Ensemble, RecurrentTranslator, Translate
from keras_transformer.inference.engines import check_served
from keras_transformer.inference.options import SearchOptions

pytest.importorskip("ctranslate2")


@pytest.fixture(scope="module")
def fast():
    return make_translate(engine="ctranslate2")


@pytest.fixture(scope="module")
def random_pair(dataset):
    """Two engines with random weights, whose translations have all lengths."""
    model = make_model(dataset)
    random = np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(random.normal(weight.name == "gamma", 0.4, weight.shape))
    return [make_translate(model, engine=name) for name in ("numpy", "ctranslate2")]


SENTENCES = ["one", "", "two three", "four unheard two five", " ", "one " * 9, "three"] * 8


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_length_ratio": 1.5},
        {"max_length_ratio": 0.5},
        {"no_repeat_ngram_size": 1},
        {"no_repeat_ngram_size": 2},
        {"allow_unknown": True},
        {"prefixes": ["eins", "", "", "zwei unerhört", "", "drei eins", "fünf fünf"] * 8},
        {"replace_unknown": True},
    ],
    ids=str,
)
def test_greedy_search_gives_the_same_tokens(random_pair, options):
    found = [
        [x.tokens for [x] in translate.hypotheses(SENTENCES, **options)]
        for translate in random_pair
    ]
    assert found[0] == found[1]
    assert len({len(x) for x in found[0]}) > 2
    texts = [translate(SENTENCES, **options) for translate in random_pair]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "options", [{}, {"length_penalty": 0.0}, {"prefixes": ["eins", "", "zwei"] * 8}], ids=str
)
def test_beam_search_gives_the_same_translations_and_scores(fast, options):
    sentences = ["one two", "three", "four five one two"] * 8
    arguments = {"beam_size": 4, **options}
    translates = (shared_translate(), fast)
    found = [x.hypotheses(sentences, n_best=2, **arguments) for x in translates]
    assert [x[0].tokens for x in found[0]] == [x[0].tokens for x in found[1]]
    scores = [[x[0].score for x in result] for result in found]
    # CTranslate2 shares out the probability of the tokens that may not occur.
    added = np.subtract(scores[1], scores[0])
    assert added.min() > -1e-4 and added.max() < 0.2
    assert all(x.score >= y.score for x, y in found[1])
    assert fast(sentences, **arguments) == [x[0].text for x in found[1]]


def test_a_translation_does_not_depend_on_the_other_sentences(random_pair):
    for options in ({}, {"beam_size": 3}, {"return_scores": True}):
        together = random_pair[1].hypotheses(SENTENCES[:7], **options)
        alone = [random_pair[1].hypotheses(x, **options)[0] for x in SENTENCES[:7]]
        assert [x[0].tokens for x in together] == [x[0].tokens for x in alone]
        scores = ([x[0].score for x in y] for y in (together, alone))
        np.testing.assert_allclose(*scores, atol=1e-4)


def test_each_hypothesis_occurs_once(random_pair):
    options = {"beam_size": 4, "n_best": 4, "no_repeat_ngram_size": 1}
    prefixes = ["eins", "", "zwei", "", "drei eins", "fünf fünf", "eins eins eins"]
    for some in random_pair[1].hypotheses(SENTENCES[:7], prefixes=prefixes, **options):
        assert len({tuple(x.tokens) for x in some}) == len(some)


def test_calls_and_attention_are_those_of_every_engine(fast):
    ours = shared_translate()
    for sentences in ("two three", "", ["two three"], ("two", ""), []):
        assert fast(sentences) == ours(sentences)
    streamed = [x.text for [x] in fast.stream(iter(SENTENCES[:7]), window=2)]
    assert streamed == ours(SENTENCES[:7])
    [[a]], [[b]] = (x.hypotheses("two one", return_attention=True) for x in (ours, fast))
    np.testing.assert_allclose(a.attention["cross"], b.attention["cross"], atol=1e-5)
    with pytest.raises(ValueError, match=r"Sentence 2 is too long"):
        fast(["one", "one " * 1025])
    with pytest.raises(ValueError, match=r"at most 2,056 tokens.*may have 3,008 tokens"):
        fast("one " * 30, max_length_ratio=100.0)


def test_changed_weights_are_used(dataset):
    model = make_model(dataset)
    translate = make_translate(model, engine="ctranslate2")
    before = translate(SENTENCES)
    model.set_weights([np.random.default_rng(0).normal(0, 0.5, x.shape) for x in model.weights])
    assert before != translate(SENTENCES) == make_translate(model)(SENTENCES)


def test_a_run_is_translated_in_every_type_and_stays_as_it_is(tmp_path):
    write_run(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for compute_type in (None, "float32", "int8"):
        options = {"engine": "ctranslate2", "compute_type": compute_type}
        translate = Translate.from_run(tmp_path, **options)
        assert translate.engine == "ctranslate2"
        assert translate("one two three") == shared_translate()("one two three")
    assert sorted(tmp_path.rglob("*")) == before


def test_options_that_it_lacks_are_refused_by_name(fast, monkeypatch):
    message = r'"ctranslate2" has no `temperature`.*"numpy" or "layers"\. Received: .*=0.5$'
    with pytest.raises(ValueError, match=message):
        fast("one", temperature=0.5)
    # A new field is refused until it is known to be served.
    monkeypatch.setattr("keras_transformer.inference.engines._SERVED", {"n_best"})
    with pytest.raises(ValueError, match="has no `beam_size`"):
        check_served(SearchOptions(beam_size=2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "onnx"}, r"`engine` must be one of .*'ctranslate2'.*Received: engine='onnx'"),
        ({"engine": "ctranslate2", "compute_type": "int3"}, r"must be one of .*'int8'.*'int3'"),
        ({"compute_type": "int8"}, r'is for engine="ctranslate2".*compute_type=\'int8\'$'),
        ({"engine": "numpy", "jit_compile": True}, r"is compiled.*jit_compile=True$"),
    ],
    ids=str,
)
def test_arguments_of_another_engine_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_translate(**options)


def test_models_of_other_engines_are_refused(dataset, model):
    sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    recurrent = RecurrentTranslator(*sizes, 8, 8, 0.1)
    recurrent.build(((None, None), (None, None)))
    for other in (recurrent, Ensemble([model, model])):
        with pytest.raises(ValueError, match="takes only a built `TransformerModel`"):
            make_translate(other, engine="ctranslate2")
    with pytest.raises(ValueError, match=r'choose the engine "layers"\. Received: Recurrent'):
        make_translate(recurrent, engine="numpy")


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ImportError, match=r"run pip install 'keras3-transformer\[ctranslate2\]'"):
        make_translate(engine="ctranslate2")
