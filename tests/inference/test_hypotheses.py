"""Scores, samples, lengths and attention weights of hypotheses, and streams of sentences."""

import itertools

import numpy as np
import pytest
from keras import ops
from translating import ids_of, log_likelihoods, make_translate

from keras_transformer import BlockSettings, TransformerModel
from keras_transformer._utils.special_tokens import END_ID, START_ID
from keras_transformer.data.batches import pad_ids

FOUR = ["one two three four", "five one one two", "three three two five", "two five four one"]


@pytest.fixture(scope="module")
def endless(dataset):
    """A `Translate` whose model never predicts the end token."""
    sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    settings = BlockSettings(h=2, d_model=16, d_ff=16, n=2, rate=0.0)
    model = TransformerModel(*sizes, settings=settings)
    model.build(((None, None), (None, None)))
    randoms = np.random.default_rng(5)
    for weight in model.weights:
        weight.assign(randoms.normal(weight.name == "gamma", 0.4, weight.shape))
    bias = ops.convert_to_numpy(model.projection.bias).copy()
    bias[END_ID] = -100.0
    model.projection.bias.assign(bias)
    return make_translate(model)


def penalty(hypothesis, alpha):
    return ((5 + len(hypothesis.tokens)) / 6) ** alpha


# Scores


def test_hypothesis_holds_text_tokens_and_source_tokens(translate, dataset):
    ((hypothesis,),) = translate.hypotheses(" two  three")
    assert hypothesis.text == translate("two three")
    assert hypothesis.source_tokens == ["▁two", "▁three", "[END]"]
    assert hypothesis.tokens[-1] == "[END]"
    ids = ids_of(dataset.target_tokenizer, hypothesis.tokens)
    assert dataset.target_tokenizer.decode(ids) == hypothesis.text
    assert hypothesis.attention is None


@pytest.mark.parametrize(
    ("options", "alpha"),
    [
        ({}, 0),
        ({"temperature": 2.0, "n_best": 3}, 0),
        pytest.param({"beam_size": 4, "n_best": 4}, 0.6, marks=pytest.mark.exhaustive),
        ({"beam_size": 4, "n_best": 3, "length_penalty": 2}, 2),
    ],
    ids=["greedy", "sampling", "beam", "penalty"],
)
def test_score_is_the_log_likelihood_divided_by_the_penalty(
    translate, dataset, model, sources, options, alpha
):
    found = translate.hypotheses(sources, **options)
    assert all(len(hypotheses) == options.get("n_best", 1) for hypotheses in found)
    flat = list(itertools.chain(*found))
    expected = log_likelihoods(model, dataset, flat) / [penalty(x, alpha) for x in flat]
    np.testing.assert_allclose([x.score for x in flat], expected, atol=1e-4)


def test_hypotheses_are_distinct_and_sorted_by_score(translate, sources):
    options = {"beam_size": 4, "n_best": 4}
    found = translate.hypotheses(sources, **options)
    for hypotheses in found:
        scores = [x.score for x in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(x.tokens) for x in hypotheses}) == len(hypotheses) == 4
    assert [hypotheses[0].text for hypotheses in found] == translate(sources, **options)


@pytest.mark.exhaustive
def test_fewer_hypotheses_than_n_best_where_no_more_exist(translate, dataset):
    prefix = " ".join(["eins"] * 9)  # nine of at most ten tokens
    (found,) = translate.hypotheses("one", prefix, beam_size=8, n_best=8)
    last = {x.tokens[9] for x in found}
    assert len(found) == 6 and last == {"▁eins", "▁zwei", "▁drei", "▁vier", "▁fünf", "[END]"}


# Sampling


def test_samples_are_determined_by_the_seed(translate):
    samples = [translate(FOUR, temperature=2.0, seed=seed) for seed in (0, 0, 1, 2)]
    assert samples[0] == samples[1] and len(set(map(tuple, samples))) == 3


def test_samples_of_a_sentence_differ_and_are_sorted_by_score(translate):
    for hypotheses in translate.hypotheses(FOUR, temperature=3.0, n_best=5):
        assert len({x.text for x in hypotheses}) > 1
        scores = [x.score for x in hypotheses]
        assert scores == sorted(scores, reverse=True)


# Lengths and repetitions


@pytest.mark.parametrize(("ratio", "tokens"), [(2.0, 4 * 2 + 8), (0.6, 2 + 8), (0, 8)])
def test_endless_translations_are_truncated(endless, ratio, tokens):
    (hypothesis,), (batched, *_) = (
        endless.hypotheses(sentences, max_length_ratio=ratio)[0]
        for sentences in (FOUR[0], [FOUR[0], "one " * 11])
    )
    assert len(hypothesis.tokens) == len(hypothesis.text.split()) == tokens
    assert batched.tokens == hypothesis.tokens


def test_min_length_ratio_sets_the_minimum_length(translate):
    for hypotheses in translate.hypotheses(FOUR, min_length_ratio=1.8, beam_size=3, n_best=3):
        assert all(4 * 1.8 - 1 < len(x.text.split()) <= 16 for x in hypotheses)
    assert min(len(x.split()) for x in translate(FOUR)) < 7


# Attention


def test_attention_weights_equal_those_of_the_model(endless, dataset):
    sentences, hypotheses = ["one two three four five", "", "two", "three one five"], []
    for options in ({}, {"beam_size": 4, "n_best": 3}):
        found = endless.hypotheses(
            sentences, return_attention=True, max_length_ratio=0.5, **options
        )
        assert found[1][0].attention is None
        hypotheses += itertools.chain(found[0], found[2], found[3])
    assert len(hypotheses) == 3 + 9
    sources = [ids_of(dataset.source_tokenizer, x.source_tokens) for x in hypotheses]
    targets = [ids_of(dataset.target_tokenizer, x.tokens) for x in hypotheses]
    # Padded for the model; the padding is cut off below.
    source, target = pad_ids(sources, 6), pad_ids([[START_ID, *ids[:-1]] for ids in targets], 10)
    scores = endless.model.attention_weights(source, target)
    for i, hypothesis in enumerate(hypotheses):
        s, t = len(sources[i]), len(targets[i])
        sizes = {"encoder": (s, s), "causal": (t, t), "cross": (t, s)}
        assert set(hypothesis.attention) == set(sizes)
        for kind, weights in hypothesis.attention.items():
            rows, columns = sizes[kind]
            assert weights.shape == (2, 2, rows, columns) and weights.dtype == "float32"
            expected = np.stack([ops.convert_to_numpy(x)[i] for x in scores[kind]])
            np.testing.assert_allclose(weights, expected[:, :, :rows, :columns], atol=1e-4)
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
        assert (np.triu(hypothesis.attention["causal"], 1) == 0).all()


# Streams


def test_stream_reads_one_window_at_a_time(translate):
    read = []

    def sentences():
        for i in range(10):
            read.append(i)
            yield FOUR[i % 4]

    stream = translate.stream(sentences(), window=4)
    assert read == []  # the generator has not started
    results = []
    for i, result in enumerate(stream):
        assert len(read) == min(10, 4 * (i // 4 + 1))
        results.append(result[0].text)
    texts = translate(FOUR)
    assert results == [texts[i % 4] for i in range(10)]


def test_stream_keeps_the_order(translate, sources):
    options = {"beam_size": 4, "n_best": 4}
    assert list(translate.stream(sources, **options)) == translate.hypotheses(sources, **options)
    mixed = ["one", "", "one two three", "  ", "two"]
    texts = [hypotheses[0].text for hypotheses in translate.stream(iter(mixed), window=2)]
    assert texts == translate(mixed)
    assert list(translate.stream([])) == []


def test_stream_errors_count_sentences_across_windows(translate):
    stream = translate.stream(["one", "two", "", "four", "five", "one " * 1025], window=2)
    assert len([next(stream) for _ in range(4)]) == 4
    with pytest.raises(ValueError, match="Sentence 6 is too long"):
        next(stream)


def test_stream_accepts_a_single_sentence(translate):
    assert list(translate.stream("one two")) == translate.hypotheses("one two")


@pytest.mark.parametrize("window", [0, -1, 1.5])
def test_bad_window_is_refused(translate, window):
    with pytest.raises(ValueError, match="`window` must be a positive int"):
        next(translate.stream(["one"], window=window))
