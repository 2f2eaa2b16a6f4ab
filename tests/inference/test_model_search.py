"""`ModelSearch` finds what full forward passes find, and `NumpySearch` what `ModelSearch` finds."""

import keras
import numpy as np
import pytest
from layer_contract import group_settings, numpy, random_weights
from quick import some_of

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID
from keras_transformer.backends import backend_module
from keras_transformer.inference import numpy_search
from keras_transformer.inference.model_search import ModelSearch
from keras_transformer.inference.numpy_search import NumpySearch
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.rules import make_constraints, pad_banned
from keras_transformer.models import TransformerModel
from keras_transformer.models.numpy_transformer import NumpyTransformer

JAX = keras.config.backend() == "jax"
SIZES = {
    "enc_vocab_size": 11,
    "dec_vocab_size": 13,
    "h": 2,
    "d_k": 3,
    "d_v": 5,
    "d_model": 8,
    "d_ff": 16,
    "n": 2,
    "rate": 0.3,
}
MAX_LENGTHS = (7, 5, 7, 6, 7, 4)
BEAM = SearchOptions(beam_size=3, n_best=2, length_penalty=0.6)


def make_model(**kwargs):
    """Creates a model whose translations differ; some of them reach the end token."""
    model = TransformerModel(**group_settings({**SIZES, **kwargs}))
    model.build(((None, None), (None, None)))
    weights = zip(model.get_weights(), random_weights(model), strict=True)
    model.set_weights([new if new.ndim > 1 else old + new / 2 for old, new in weights])
    if not model.tie_output:
        model.projection.bias.assign_add(2 * np.eye(SIZES["dec_vocab_size"])[END_ID])
    return model


@pytest.fixture(scope="module")
def model():
    return make_model(norm_first=True)


def make_sources():
    """Creates source ids: sentences of four to six tokens, padded to seven."""
    sources = np.random.default_rng(3).integers(4, 11, (6, 7)).astype("int32")
    sources[np.arange(7) >= np.array([4, 6, 5, 6, 4, 5])[:, None]] = PADDING_ID
    return sources


SOURCES = make_sources()


def make_request(rows=range(6), length=8, forced=(), **more):
    constraints = [make_constraints(0, MAX_LENGTHS[i], length, forced) for i in rows]
    return {"source": SOURCES[list(rows)], "constraints": np.stack(constraints), **more}


def compile_search(model, options=None, jit_compile=JAX, **kwargs):
    search = ModelSearch(model, options or SearchOptions(), **kwargs)
    return backend_module().compile_inference(search, jit_compile=jit_compile)


@pytest.fixture(scope="module")
def greedy_search(model):
    return compile_search(model, with_scores=True)


@pytest.fixture(scope="module")
def beam_search(model):
    return compile_search(model, BEAM, with_scores=True)


def target_inputs(tokens):
    """Returns the decoder inputs for given output tokens, both (…, L)."""
    start = np.full_like(tokens[..., :1], START_ID)
    return np.concatenate([start, tokens[..., :-1]], axis=-1)


def log_likelihoods(model, tokens):
    """Computes the log-likelihoods of translations, (B, n, L), with full forward passes: (B, n)."""
    sums = []
    for some in np.moveaxis(tokens, 1, 0):
        logits = numpy(model((SOURCES, target_inputs(some)))).astype("float64")
        logits -= np.log(np.exp(logits).sum(axis=2, keepdims=True))
        chosen = np.take_along_axis(logits, some[..., None], axis=2)[..., 0]
        sums.append((chosen * (some != PADDING_ID)).sum(axis=1))
    return np.stack(sums, axis=1)


def greedy_tokens(model, request):
    """Runs greedy search without a cache: a full forward pass for each token."""
    rows, length = request["constraints"].shape
    found = np.zeros((rows, length), "int32")
    active = np.ones(rows, bool)
    for t in range(length):
        logits = numpy(model((request["source"], target_inputs(found))))[:, t]
        active &= t < np.array(MAX_LENGTHS)
        found[:, t] = np.where(active, END_ID + logits[:, END_ID:].argmax(axis=1), PADDING_ID)
        active &= found[:, t] != END_ID
    return found


class TestGreedy:
    @pytest.mark.every_backend
    def test_equals_search_without_cache(self, model, greedy_search):
        found = greedy_search(make_request())
        np.testing.assert_array_equal(found["tokens"][:, 0], greedy_tokens(model, make_request()))
        assert (found["tokens"] == END_ID).any()
        assert len(np.unique(found["tokens"])) > 5

    def test_scores_are_log_likelihoods(self, model, greedy_search):
        found = greedy_search(make_request())
        expected = log_likelihoods(model, found["tokens"])
        np.testing.assert_allclose(found["scores"], expected, rtol=1e-4)

    def test_tied_output_without_scores(self):
        model = make_model(tie_output=True)
        found = compile_search(model)(make_request())
        assert list(found) == ["tokens"]
        np.testing.assert_array_equal(found["tokens"][:, 0], greedy_tokens(model, make_request()))

    @pytest.mark.every_backend
    def test_half_precision(self, model):
        half = make_model(norm_first=True, dtype="mixed_bfloat16")
        found = compile_search(half, with_scores=True)(make_request())
        assert len(np.unique(found["tokens"])) > 5
        expected = log_likelihoods(model, found["tokens"])
        np.testing.assert_allclose(found["scores"], expected, atol=0.3)


@pytest.mark.every_backend
class TestBeam:
    def test_scores_are_log_likelihoods_divided_by_the_penalty(self, model, beam_search):
        found = beam_search(make_request())
        assert found["tokens"].shape == (6, 2, 8)
        lengths = (found["tokens"] != PADDING_ID).sum(axis=2)
        expected = log_likelihoods(model, found["tokens"]) / ((5 + lengths) / 6) ** 0.6
        np.testing.assert_allclose(found["scores"], expected, rtol=1e-4)
        assert (found["scores"][:, 0] >= found["scores"][:, 1]).all()


@pytest.mark.parametrize("name", ("greedy_search", "beam_search"))
class TestGreedyAndBeam:
    def test_padding_length_and_other_sentences_change_nothing(self, name, request):
        search = request.getfixturevalue(name)
        batched, rows = search(make_request()), [3, 1]
        some = make_request(rows, length=11)
        some["source"] = np.pad(some["source"][:, :6], ((0, 0), (0, 5)))
        found = search(some)
        expected = np.pad(batched["tokens"][rows], ((0, 0), (0, 0), (0, 3)))
        np.testing.assert_array_equal(found["tokens"], expected)
        np.testing.assert_allclose(found["scores"], batched["scores"][rows], rtol=1e-4)


@pytest.fixture(scope="module")
def sampling(model):
    options = SearchOptions(temperature=1.5, n_best=3)
    return compile_search(model, options, with_scores=True, with_forced=True)


@pytest.mark.every_backend
class TestSampling:
    def random_numbers(self, seed=0):
        return np.random.default_rng(seed).random((6, 3, 8)).astype("float32")

    def request(self, rows=range(6), seed=0, **kwargs):
        return make_request(
            rows, random_numbers=self.random_numbers(seed)[list(rows)].reshape(-1, 8), **kwargs
        )

    def test_samples_several_translations_per_sentence_with_scores(self, model, sampling):
        found = sampling(self.request())
        assert found["tokens"].shape == (6, 3, 8)
        expected = log_likelihoods(model, found["tokens"])
        np.testing.assert_allclose(found["scores"], expected, rtol=1e-4)
        assert (np.diff(found["scores"]) <= 0).all()
        assert len(np.unique(found["tokens"].reshape(18, 8), axis=0)) > 12

    def test_samples_depend_only_on_the_sentence_and_its_random_numbers(self, sampling):
        batched = sampling(self.request())["tokens"]
        np.testing.assert_array_equal(sampling(self.request())["tokens"], batched)
        found = sampling(self.request([5, 5, 2, 1, 0, 3]))["tokens"]
        np.testing.assert_array_equal(found, batched[[5, 5, 2, 1, 0, 3]])
        assert (sampling(self.request(seed=1))["tokens"] != batched).any()

    def test_forced_tokens_come_first(self, model, sampling):
        found = sampling(self.request(forced=(6, 1, 6)))
        assert (found["tokens"][:, :, :3] == [6, 1, 6]).all()
        expected = log_likelihoods(model, found["tokens"])
        np.testing.assert_allclose(found["scores"], expected, rtol=1e-4)


# Options and further arguments of `make_constraints`.
NUMPY_CASES = {
    "greedy": ({}, {}),
    "unknown tokens": ({"allow_unknown": True}, {}),
    "minimum length and no repetition": ({"no_repeat_ngram_size": 1}, {"min_length": 4}),
    "no repeated bigram, forced": ({"no_repeat_ngram_size": 2}, {"forced": [5, 5, UNKNOWN_ID]}),
    "beam": ({"beam_size": 3, "n_best": 2}, {}),
    "wide beam, forced": ({"beam_size": 20, "n_best": 20, "length_penalty": 0.0}, {"forced": [6]}),
    "beam, no repetition": ({"beam_size": 4, "no_repeat_ngram_size": 1}, {"min_length": 3}),
    "beam, banned sequences": ({"beam_size": 3}, {"banned": True}),
    "samples, banned sequences": ({"temperature": 0.7, "n_best": 3}, {"banned": True}),
    "samples of the best tokens": ({"temperature": 1.5, "top_k": 4, "top_p": 0.9}, {}),
}
NUMPY_QUICK = ("no repeated bigram, forced", "beam, banned sequences", "samples of the best tokens")


def request_for(options, min_length=0, forced=(), banned=False):
    constraints = [make_constraints(min_length, n, 8, forced) for n in MAX_LENGTHS]
    request = {"source": SOURCES, "constraints": np.stack(constraints)}
    if options.samples:
        rows = len(SOURCES) * options.n_best
        random_numbers = np.random.default_rng(5).random((rows, 8), "float32")
        request["random_numbers"] = random_numbers
    if banned:  # other sequences in each row, and none in the last
        request["banned"] = pad_banned([[[4 + i], [5, 6], [7, 4, 5]] for i in range(5)] + [[]])
    return request


@pytest.mark.every_backend
@pytest.mark.parametrize("case", some_of(NUMPY_CASES, NUMPY_QUICK))
def test_numpy_search_equals_the_compiled_search(model, case):
    options, constraints = SearchOptions(**case[0]), case[1]
    request = request_for(options, **constraints)
    search = compile_search(model, options, with_forced="forced" in constraints, with_scores=True)
    expected = search(request)
    found = NumpySearch(NumpyTransformer(model), options, with_scores=True)(request)
    np.testing.assert_allclose(found["scores"], expected["scores"], rtol=1e-4)
    exists = found["scores"] > -np.inf
    np.testing.assert_array_equal(found["tokens"][exists], expected["tokens"][exists])
    assert found["tokens"].dtype == expected["tokens"].dtype
    assert len(np.unique(found["tokens"])) > 5


def test_sentences_that_have_ended_may_stay_in_the_batch_of_a_numpy_search(model, monkeypatch):
    options = SearchOptions(temperature=0.7, n_best=3)
    request, search = request_for(options), NumpySearch(NumpyTransformer(model), options)
    expected = search(request)
    monkeypatch.setattr(numpy_search, "_ENDED_SHARE", 1)
    found = search(request)
    np.testing.assert_array_equal(found["tokens"], expected["tokens"])
    np.testing.assert_allclose(found["scores"], expected["scores"], rtol=1e-4)


def test_sentences_leave_the_batch_of_a_numpy_search(model):
    """A sentence is not computed after its end, up to the share that is tolerated."""
    rows, numpy_model = [], NumpyTransformer(model)

    class Counted:
        start = numpy_model.start

        def step(self, tokens, position, state):
            rows.append(len(tokens))
            return numpy_model.step(tokens, position, state)

    found = NumpySearch(Counted(), SearchOptions())(request_for(SearchOptions()))
    lengths = (found["tokens"][:, 0] != 0).sum(axis=1)
    assert len(set(lengths)) > 2
    assert (found["tokens"] == END_ID).any()
    assert rows == [(lengths > i).sum() for i in range(lengths.max())]
