import dataclasses
import re

import pytest
from layer_contract import check_refused, check_sizes_are_refused

from keras_transformer.inference.options import SearchOptions


def check_combination_refused(received, **arguments):
    with pytest.raises(ValueError, match=rf"Received: {re.escape(received)}$"):
        SearchOptions(**arguments)


def test_default_is_greedy_search():
    options = SearchOptions()
    assert (options.beam_size, options.n_best, options.samples, options.rows) == (1, 1, False, 1)


def test_beam_search_decodes_beam_size_rows():
    options = SearchOptions(beam_size=4, n_best=2)
    assert (options.samples, options.rows) == (False, 4)


def test_temperature_selects_sampling_with_one_row_per_sample():
    options = SearchOptions(temperature=0.7, n_best=3, top_k=5, top_p=0.9)
    assert (options.samples, options.rows) == (True, 3)


def test_options_are_hashable_and_frozen():
    assert len({SearchOptions(beam_size=3), SearchOptions(beam_size=3), SearchOptions()}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        SearchOptions().beam_size = 2


def test_bad_sizes_are_refused():
    check_sizes_are_refused(SearchOptions, "beam_size", "n_best")


@pytest.mark.parametrize("name", ("top_k", "seed", "no_repeat_ngram_size"))
@pytest.mark.parametrize("value", (-1, 2.0, True, None, "2"), ids=repr)
def test_bad_integers_are_refused(name, value):
    check_refused(SearchOptions, **{name: value})


@pytest.mark.parametrize(
    "name", ("length_penalty", "temperature", "min_length_ratio", "max_length_ratio")
)
@pytest.mark.parametrize("value", (-0.1, float("nan"), float("inf"), True, None, "2"), ids=repr)
def test_bad_numbers_are_refused(name, value):
    check_refused(SearchOptions, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("length_penalty", 60.0),
        ("temperature", 1e-45),
        ("temperature", 0.009),
        ("temperature", 101),
        ("max_length_ratio", 1e8),
    ],
)
def test_values_that_overflow_are_refused(name, value):
    check_refused(SearchOptions, **{name: value})


@pytest.mark.parametrize("top_p", (0, -0.1, 1.1, float("nan"), None, "1"), ids=repr)
def test_bad_top_p_is_refused(top_p):
    check_refused(SearchOptions, top_p=top_p)


def test_zero_and_integers_are_accepted_as_floats():
    SearchOptions(length_penalty=0, temperature=0, min_length_ratio=0, max_length_ratio=0)
    SearchOptions(length_penalty=2, temperature=1, top_p=1, min_length_ratio=1, max_length_ratio=1)


def test_maximum_length_below_the_minimum_is_refused():
    with pytest.raises(ValueError, match=r"`max_length_ratio`.*Received: .*1\.0\b.*1\.5$"):
        SearchOptions(max_length_ratio=1.0, min_length_ratio=1.5)


def test_sampling_with_a_beam_is_refused():
    check_combination_refused("beam_size=2, temperature=0.5", beam_size=2, temperature=0.5)


@pytest.mark.parametrize("some", ({"top_k": 5}, {"top_p": 0.9}), ids=str)
def test_top_k_and_top_p_without_temperature_are_refused(some):
    values = {"top_k": 0, "top_p": 1.0, **some}
    received = f"top_k={values['top_k']}, top_p={values['top_p']}, temperature=0"
    check_combination_refused(received, **some)


def test_n_best_above_beam_size_is_refused():
    check_combination_refused("n_best=3, beam_size=2", n_best=3, beam_size=2)
    check_combination_refused("n_best=2, beam_size=1", n_best=2)


def test_texts_become_tuples():
    options = SearchOptions(glossary={"a": "b"}, forbidden_words=["c"])
    assert options == SearchOptions(glossary=[["a", "b"]], forbidden_words=("c",))
    assert options.is_constrained and hash(options)
    assert not SearchOptions().is_constrained


@pytest.mark.parametrize(
    "texts",
    (
        {"glossary": [("a", "b", "c")]},
        {"glossary": [("a", "b"), ("a", "c")]},
        {"glossary": {"a": " "}},
        {"required_words": [""]},
        {"required_words": ["a"], "forbidden_words": ["a"]},
        {"glossary": {"a": "b"}, "forbidden_words": ["b"]},
    ),
    ids=str,
)
def test_texts_that_contradict_each_other_are_refused(texts):
    with pytest.raises(ValueError, match="Received: "):
        SearchOptions(**texts)


@pytest.mark.parametrize("texts", ({"glossary": {"a": 1}}, {"forbidden_words": "a"}), ids=str)
def test_texts_of_another_type_are_refused(texts):
    with pytest.raises(TypeError, match="Received: "):
        SearchOptions(**texts)
