"""Rules for the tokens of each search, with tables of random logits in place of a model."""

import numpy as np
import pytest
from keras import ops
from layer_contract import normal, numpy
from translating import markov, markov_score

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID
from keras_transformer.inference.beam import beam_search
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.rules import (
    ANY_TOKEN,
    NO_TOKEN,
    NOT_END,
    Rules,
    make_constraints,
    pad_banned,
)
from keras_transformer.inference.search import greedy_search, sample

VOCAB_SIZE = 8


def greedy(table, rules):
    return greedy_search(markov, table, rules, with_scores=True)


def beam(table, rules):
    options = SearchOptions(beam_size=3, n_best=2, length_penalty=0)
    return beam_search(markov, np.repeat(table, 3, axis=0), rules, options)


def sampling(table, rules):
    shape = (2 * len(table), rules.constraints.shape[1])
    randoms = np.random.default_rng(1).random(shape).astype("float32")
    options = SearchOptions(temperature=1.0, n_best=2)
    found = sample(markov, np.repeat(table, 2, axis=0), rules.repeat(2), randoms, options)
    return found.group_rows(2)


EACH_SEARCH = pytest.mark.parametrize("search", (greedy, beam, sampling))


def rules_of(*constraints, **kwargs):
    return Rules(ops.convert_to_tensor(np.stack(constraints), dtype="int32"), **kwargs)


def tables(rows, end=0.0):
    """Returns random tables of logits; `end` is added to the logit of the end token."""
    bias = end * np.eye(VOCAB_SIZE, dtype="float32")[END_ID]
    return 2 * normal(rows, VOCAB_SIZE, VOCAB_SIZE) + bias


def sequences(found):
    """Returns [[(score, tokens up to the end token), ...] of each sentence].

    Missing hypotheses are left out.
    """
    scores, tokens = numpy(found.scores), ops.convert_to_numpy(found.tokens)
    result = []
    for pair in zip(scores, tokens, strict=True):
        some = [(s, t.tolist()) for s, t in zip(*pair, strict=True) if np.isfinite(s)]
        result.append([(s, t[: t.index(END_ID) + 1] if END_ID in t else t) for s, t in some])
    return result


def all_tokens(found):
    return [tokens for some in sequences(found) for _, tokens in some]


class TestConstraints:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        (
            ({"min_length": 0, "max_length": 4}, [ANY_TOKEN] * 4 + [NO_TOKEN] * 2),
            ({"min_length": 2, "max_length": 4}, [NOT_END] * 2 + [ANY_TOKEN] * 2 + [NO_TOKEN] * 2),
            ({"min_length": 0, "max_length": 6}, [ANY_TOKEN] * 6),
            ({"min_length": 6, "max_length": 5}, [NOT_END] * 5 + [NO_TOKEN]),
            (
                {"min_length": 3, "max_length": 5, "forced": (7, 9)},
                [7, 9, NOT_END, ANY_TOKEN, ANY_TOKEN, NO_TOKEN],
            ),
            (
                {"min_length": 1, "max_length": 5, "forced": (7, 9)},
                [7, 9, ANY_TOKEN, ANY_TOKEN, ANY_TOKEN, NO_TOKEN],
            ),
        ),
        ids=str,
    )
    def test_constraint_of_each_position(self, arguments, expected):
        constraints = make_constraints(length=6, **arguments)
        assert constraints.dtype == "int32"
        assert constraints.tolist() == expected

    def test_max_lengths_counts_the_allowed_positions(self):
        rules = rules_of(
            make_constraints(2, 4, 6), make_constraints(0, 6, 6, (7, 8)), make_constraints(0, 1, 6)
        )
        assert ops.convert_to_numpy(rules.max_lengths()).tolist() == [4, 6, 1]

    def test_repeated_rows_are_adjacent(self):
        rules = rules_of(
            make_constraints(2, 4, 6), make_constraints(0, 6, 6), no_repeat_ngram_size=2
        )
        repeated = rules.repeat(2)
        constraints = ops.convert_to_numpy(rules.constraints)
        assert (
            ops.convert_to_numpy(repeated.constraints).tolist()
            == constraints[[0, 0, 1, 1]].tolist()
        )
        assert repeated._replace(constraints=None) == rules._replace(constraints=None)


def allowed(rules, tokens=(), position=0):
    """Returns the allowed next tokens of each row, and checks that their logits are unchanged.

    The axis of the vocabulary must make no difference.
    """
    constraints = ops.convert_to_numpy(rules.constraints)
    padded = np.full(constraints.shape, PADDING_ID, "int32")
    padded[:, : len(tokens)] = tokens
    logits = normal(len(constraints), VOCAB_SIZE)
    padded = ops.convert_to_tensor(padded)
    found = numpy(rules.apply(logits, padded, position))
    transposed = numpy(rules.apply(logits.T, padded, position, vocab_axis=0))
    np.testing.assert_array_equal(transposed.T, found)
    np.testing.assert_array_equal(found[found > -np.inf], logits[found > -np.inf])
    return [np.flatnonzero(row > -np.inf).tolist() for row in found]


class TestApply:
    def test_constraints_limit_the_tokens(self):
        rules = rules_of([ANY_TOKEN, NOT_END, 6, UNKNOWN_ID, END_ID, NO_TOKEN])
        free = [END_ID, 4, 5, 6, 7]
        expected = [free, free[1:], [6], [UNKNOWN_ID], [END_ID]]
        assert [allowed(rules, position=i)[0] for i in range(5)] == expected

    def test_each_row_has_its_own_constraints(self):
        assert allowed(rules_of([NOT_END], [5], [ANY_TOKEN])) == [
            [4, 5, 6, 7],
            [5],
            [END_ID, 4, 5, 6, 7],
        ]

    def test_unknown_token_is_allowed_on_request(self):
        rules = rules_of([ANY_TOKEN], [NOT_END], allow_unknown=True)
        assert allowed(rules) == [[UNKNOWN_ID, END_ID, 4, 5, 6, 7], [UNKNOWN_ID, 4, 5, 6, 7]]

    @pytest.mark.parametrize(
        ("size", "forbidden"),
        ((1, {4, 5, 6, 7}), (2, {6, 7}), (3, {6}), (4, set()), (9, set()), (12, set())),
    )
    def test_repeated_n_grams_are_forbidden(self, size, forbidden):
        """An n-gram may be longer than the eight positions."""
        rules = rules_of([ANY_TOKEN] * 8, no_repeat_ngram_size=size)
        assert allowed(rules) == [[END_ID, 4, 5, 6, 7]]
        (found,) = allowed(rules, (4, 5, 6, 5, 7, 4, 5), position=7)
        assert set(found) == {END_ID, 4, 5, 6, 7} - forbidden

    def test_banned_sequences_are_not_completed(self):
        banned = [[[5, 6], [4, 5, 7]], [[6], [7, 7, 7, 7]], []]
        rules = rules_of(*[[ANY_TOKEN] * 8] * 3, banned=ops.convert_to_tensor(pad_banned(banned)))
        free = [END_ID, 4, 5, 6, 7]
        assert allowed(rules) == [free, [END_ID, 4, 5, 7], free]
        assert allowed(rules, (4, 5), position=2) == [[END_ID, 4, 5], [END_ID, 4, 5, 7], free]
        assert allowed(rules, (7, 7, 7), position=3) == [free, [END_ID, 4, 5], free]
        assert pad_banned([[], []]) is None

    def test_end_token_is_allowed_where_nothing_else_is(self):
        """After all four words have occurred, the end token and forced tokens remain allowed."""
        constraints, once = [[NOT_END] * 5, [ANY_TOKEN] * 5, [6] * 5], {"no_repeat_ngram_size": 1}
        all_used = {"tokens": (4, 5, 6, 7), "position": 4}
        assert allowed(rules_of(*constraints, **once), **all_used) == [[END_ID], [END_ID], [6]]
        found = allowed(rules_of(*constraints, **once, allow_unknown=True), **all_used)
        assert found == [[UNKNOWN_ID], [UNKNOWN_ID, END_ID], [6]]
        assert allowed(rules_of(*constraints, **once), (4, 5, 6), position=3)[0] == [7]

    def test_forced_tokens_may_repeat(self):
        rules = rules_of([4, 4, 4, ANY_TOKEN], no_repeat_ngram_size=1)
        assert allowed(rules, (4, 4), position=2) == [[4]]


@EACH_SEARCH
class TestSearches:
    def test_special_tokens_are_not_chosen_except_an_allowed_unknown_token(self, search):
        table = tables(20)
        table[:, :, :END_ID] += 1.5
        constraints = [make_constraints(0, 5, 5)] * 20
        found = [all_tokens(search(table, rules_of(*constraints, allow_unknown=x))) for x in (0, 1)]
        words = [{word for tokens in some for word in tokens} for some in found]
        assert words == [{END_ID, 4, 5, 6, 7}, {UNKNOWN_ID, END_ID, 4, 5, 6, 7}]

    def test_length_limits_are_respected(self, search):
        bounds = [(0, 6), (2, 5), (4, 6), (3, 4), (0, 1)] * 10
        constraints = [make_constraints(*pair, 6) for pair in bounds]
        for end in (-4, 4):
            found = sequences(search(tables(50, end), rules_of(*constraints, with_forced=False)))
            for (shortest, longest), some in zip(bounds, found, strict=True):
                for _, tokens in some:
                    words = [token for token in tokens if token not in (END_ID, PADDING_ID)]
                    assert min(shortest, longest) <= len(words) <= longest
                    assert (len(words) < longest) == (END_ID in tokens)

    def test_forced_tokens_come_first_and_count_for_length_and_score(self, search):
        prefixes = [(), (5,), (UNKNOWN_ID, UNKNOWN_ID), (4, 4, 4, 4), (6, START_ID, 7)] * 6
        table = tables(30)
        constraints = [make_constraints(5, 7, 7, forced) for forced in prefixes]
        found = sequences(search(table, rules_of(*constraints, no_repeat_ngram_size=2)))
        for i, forced in enumerate(prefixes):
            assert found[i]
            for score, tokens in found[i]:
                assert tokens[: len(forced)] == list(forced)
                assert len(tokens) > 5
                assert score == pytest.approx(markov_score(table[i], tokens), rel=1e-4)


@EACH_SEARCH
def test_translation_ends_where_every_word_would_repeat(search):
    """Four words that may occur once each cannot reach the minimum length of nine."""
    table, constraints = tables(20), [make_constraints(9, 10, 10)] * 20
    found = sequences(search(table, rules_of(*constraints, no_repeat_ngram_size=1)))
    for one, some in zip(table, found, strict=True):
        assert len(some) == (1 if search is greedy else 2)
        for score, tokens in some:
            assert sorted(tokens) == [END_ID, 4, 5, 6, 7] and tokens[-1] == END_ID
            assert score == pytest.approx(markov_score(one, tokens), rel=1e-4)


def repetitions(found, size):
    """Counts the n-grams of `size` tokens that have occurred before."""
    found = [[word for word in tokens if word] for tokens in all_tokens(found)]
    ngrams = [[tuple(t[i : i + size]) for i in range(len(t) - size + 1)] for t in found]
    return sum(len(some) - len(set(some)) for some in ngrams)


def test_beam_search_repeats_no_n_gram():
    table, constraints = tables(40, end=-2.0), [make_constraints(0, 8, 8)] * 40
    free = beam(table, rules_of(*constraints))
    for size in (1, 2, 3):
        assert repetitions(free, size) > 20
        assert (
            repetitions(beam(table, rules_of(*constraints, no_repeat_ngram_size=size)), size) == 0
        )


def reference_greedy_search(table, length, size):
    """Runs greedy search without the tokens that would repeat an n-gram."""
    tokens = []
    while len(tokens) < length and END_ID not in tokens:
        ngrams = {tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)}
        before = tuple(tokens[len(tokens) - size + 1 :])
        candidates = [x for x in range(END_ID, VOCAB_SIZE) if (*before, x) not in ngrams]
        logits = table[([START_ID, *tokens])[-1]]
        tokens.append(max(candidates, key=lambda token: logits[token]))
    return tokens


@pytest.mark.parametrize("size", (1, 2, 3))
def test_greedy_search_takes_the_best_token_that_repeats_no_n_gram(size):
    table, constraints = tables(40, end=-2.0), [make_constraints(0, 8, 8)] * 40
    found = greedy(table, rules_of(*constraints, no_repeat_ngram_size=size))
    found = [[token for token in tokens if token] for tokens in all_tokens(found)]
    assert found == [reference_greedy_search(some, 8, size) for some in table]
