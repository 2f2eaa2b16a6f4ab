"""Greedy search and sampling, with simple functions in place of a model."""

import numpy as np
import pytest
from keras import ops
from layer_contract import normal, numpy
from translating import markov, markov_score

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.rules import Rules, make_constraints
from keras_transformer.inference.search import SearchResult, greedy_search, sample

LETTERS = {letter: i for i, letter in enumerate("abcdefghijklmnopqrstuvwxyz", start=4)}
VOCAB_SIZE = 4 + len(LETTERS)
ALMOST_ONE = np.float32(1 - 2**-24)


def ids_of(word):
    return [LETTERS[letter] for letter in word]


def rules_of(*max_lengths, length=None):
    """Creates rules with the maximum length of each row."""
    length = length or max(max_lengths)
    constraints = np.stack([make_constraints(0, n, length) for n in max_lengths])
    return Rules(ops.convert_to_tensor(constraints), with_forced=False)


def speller(*words):
    """Returns a fake model that spells one word per row, and its search state."""
    script = np.full((len(words), 20), PADDING_ID, "int32")
    for row, word in zip(script, words, strict=True):
        row[: len(word) + 1] = [*ids_of(word), END_ID]

    def spell(last, position, script):
        return ops.one_hot(ops.take(script, position, axis=1), VOCAB_SIZE), script

    return spell, ops.convert_to_tensor(script)


def tokens_of(found):
    """Returns the tokens of the first sequence of each sentence."""
    return ops.convert_to_numpy(found.tokens)[:, 0].tolist()


class TestGreedy:
    @pytest.mark.every_backend
    def test_rows_of_different_lengths(self):
        found = greedy_search(*speller("cab", "a", "dog"), rules_of(6, 6, 6))
        assert tokens_of(found) == [
            [*ids_of("cab"), END_ID, 0, 0],
            [*ids_of("a"), END_ID, 0, 0, 0, 0],
            [*ids_of("dog"), END_ID, 0, 0],
        ]
        assert found.tokens.shape == (3, 1, 6)
        assert found.scores.shape == (3, 1)
        assert numpy(found.scores).tolist() == [[0], [0], [0]]  # without `with_scores`

    def test_each_row_has_its_own_maximum_length(self):
        found = greedy_search(*speller("letter", "cab", "dog", "a"), rules_of(2, 5, 3, 1))
        assert tokens_of(found) == [
            [*ids_of("le"), 0, 0, 0],
            [*ids_of("cab"), END_ID, 0],
            [*ids_of("dog"), 0, 0],
            [*ids_of("a"), 0, 0, 0, 0],
        ]

    @pytest.mark.parametrize(("max_length", "calls"), ((12, 5), (4, 4), (2, 2)))
    def test_stops_when_every_row_has_ended(self, loop_steps, max_length, calls):
        rules = rules_of(max_length, max_length, max_length, length=15)
        greedy_search(*speller("ab", "abcd", "c"), rules)
        assert loop_steps == [calls]

    def test_each_step_receives_the_last_tokens_position_and_state(self):
        """Each token is the sum of the last token, the position and the state, which increases."""

        def adding(last, position, state):
            logits = ops.one_hot(last + position + state["grows"], VOCAB_SIZE)
            return logits, {"grows": state["grows"] + state["by"], "by": state["by"]}

        state = {"grows": np.array([2, 3], "int32"), "by": np.array([0, 1], "int32")}
        state = {name: ops.convert_to_tensor(x) for name, x in state.items()}
        found = greedy_search(adding, state, rules_of(4, 4, length=5))
        assert tokens_of(found) == [[4, 7, 11, 16, 0], [5, 10, 17, 26, 0]]

    @pytest.mark.every_backend
    @pytest.mark.parametrize("dtype", ("float32", "bfloat16", "float16"))
    def test_special_tokens_are_never_chosen(self, dtype):
        logits = np.zeros((3, VOCAB_SIZE), "float32")
        logits[[0, 1, 2], [PADDING_ID, UNKNOWN_ID, START_ID]] = 6e4
        logits[:, LETTERS["x"]] = 1.0

        def propose(last, position, state):
            return ops.cast(ops.convert_to_tensor(logits), dtype), state

        found = greedy_search(propose, (), rules_of(2, 2, 2))
        assert tokens_of(found) == [ids_of("xx")] * 3

    def test_ties_go_to_the_first_token(self):
        logits = np.tile(np.float32([9, 9, 9, 0, 1, 2, 2, 1]), (2, 1))
        found = greedy_search(lambda *args: (logits, args[2]), (), rules_of(1, 1))
        assert tokens_of(found) == [[5], [5]]

    def test_scores_are_the_log_probabilities_of_the_raw_logits(self):
        table = 3 * normal(20, 8, 8)
        found = greedy_search(markov, table, rules_of(*[5] * 20, length=7), with_scores=True)
        tokens = tokens_of(found)
        assert len({sum(t > 0 for t in row) for row in tokens}) > 2  # various lengths
        expected = [markov_score(*pair) for pair in zip(table, tokens, strict=True)]
        np.testing.assert_allclose(numpy(found.scores)[:, 0], expected, rtol=1e-5)


def draw(logits, randoms, **options):
    """Samples a token with each random number from one distribution; returns tokens and scores."""
    logits = np.tile(np.float32(logits), (len(randoms), 1))
    randoms = ops.convert_to_tensor(np.float32(randoms)[:, None])
    options = SearchOptions(**{"temperature": 1.0, **options})
    rules = rules_of(*[1] * len(randoms))
    found = sample(lambda *args: (logits, args[2]), (), rules, randoms, options)
    return ops.convert_to_numpy(found.tokens).ravel(), numpy(found.scores).ravel()


class TestSampling:
    # Logits. The tokens 4 to 7 share the probability; ids below the end token are forbidden.
    HALVES = (9, 9, 9, -99, *np.log([0.125, 0.5, 0.25, 0.125]))

    def test_random_number_selects_by_cumulative_probability(self):
        words, _ = draw(self.HALVES, [0, 0.49, 0.51, 0.74, 0.76, 0.87, 0.88, ALMOST_ONE])
        assert words.tolist() == [5, 5, 6, 6, 4, 4, 7, 7]

    @pytest.mark.every_backend
    @pytest.mark.parametrize("temperature", (0.5, 1.0, 3.0))
    def test_frequencies_follow_the_softmax(self, temperature):
        logits, n = [9, 9, 9, *normal(6)], 1000
        words, scores = draw(logits, (np.arange(n) + 0.5) / n, temperature=temperature)
        odds = np.exp(np.float64(logits[3:]) / temperature)
        frequencies = np.bincount(words, minlength=9)[3:] / n
        np.testing.assert_allclose(frequencies, odds / odds.sum(), atol=1.5 / n)
        raw = np.float64(logits) - np.log(np.exp(np.float64(logits)).sum())
        np.testing.assert_allclose(scores, raw[words], atol=1e-5)  # at temperature 1

    @pytest.mark.parametrize(
        ("options", "frequencies"),
        (
            ({"top_k": 2}, {5: 2 / 3, 6: 1 / 3}),
            ({"top_k": 99}, {5: 1 / 2, 6: 1 / 4, 4: 1 / 8, 7: 1 / 8}),
            ({"top_p": 0.01}, {5: 1}),
            ({"top_p": 0.45}, {5: 1}),
            ({"top_p": 0.7}, {5: 2 / 3, 6: 1 / 3}),
            ({"top_p": 0.8}, {5: 4 / 7, 6: 2 / 7, 4: 1 / 7}),
            ({"top_p": 0.9}, {5: 1 / 2, 6: 1 / 4, 4: 1 / 8, 7: 1 / 8}),
            # The first two have 6/7 of the probability of the best three.
            ({"top_k": 3, "top_p": 0.85}, {5: 2 / 3, 6: 1 / 3}),
            ({"top_k": 3, "top_p": 0.87}, {5: 4 / 7, 6: 2 / 7, 4: 1 / 7}),
            # The odds 4 : 2 : 1 : 1 are squared: the first token has 16/22.
            ({"temperature": 0.5, "top_p": 0.7}, {5: 1}),
            ({"temperature": 0.5, "top_p": 0.75}, {5: 4 / 5, 6: 1 / 5}),
        ),
        ids=str,
    )
    def test_top_k_and_top_p_keep_the_proportions_of_the_best_tokens(self, options, frequencies):
        words, _ = draw(self.HALVES, (np.arange(400) + 0.5) / 400, **options)
        found = {int(word): np.mean(words == word) for word in np.unique(words)}
        assert found == pytest.approx(frequencies, abs=1.5 / 400)

    @pytest.mark.every_backend
    def test_rounding_selects_no_forbidden_token(self):
        """XLA may sum in another order."""
        logits = normal(1000)
        logits[500:700] = -np.inf
        words, _ = draw(logits, np.full(50, ALMOST_ONE))
        assert set(words) == {np.argmin(np.where(np.isinf(logits), 9, logits)[3:]) + 3}

    def test_top_k_of_one_is_greedy_search(self):
        table, options = 2 * normal(20, 8, 8), SearchOptions(temperature=2.0, top_k=1)
        randoms = np.random.default_rng(0).random((20, 6)).astype("float32")
        rules = rules_of(*[6] * 20)
        found = sample(markov, table, rules, randoms, options)
        greedy = greedy_search(markov, table, rules, with_scores=True)
        assert tokens_of(found) == tokens_of(greedy)
        np.testing.assert_allclose(numpy(found.scores), numpy(greedy.scores), rtol=1e-6)

    def test_each_position_uses_its_own_random_number(self):
        randoms = np.float32([[0.1, 0.6, 0.8, 0.95], [0.95, 0.1, 0.1, 0.6]])
        logits = np.tile(np.float32(self.HALVES), (2, 1))
        options, rules = SearchOptions(temperature=1.0), rules_of(4, 3)
        found = sample(lambda *args: (logits, args[2]), (), rules, randoms, options)
        assert tokens_of(found) == [[5, 6, 4, 7], [7, 5, 5, 0]]


def test_group_rows_groups_adjacent_rows_and_sorts_by_score():
    tokens = np.arange(12, dtype="int32").reshape(6, 1, 2)
    scores = np.float32([-3, -1, -2, -5, -4, -6])[:, None]
    found = SearchResult(*map(ops.convert_to_tensor, (tokens, scores))).group_rows(3)
    assert numpy(found.scores).tolist() == [[-1, -2, -3], [-4, -5, -6]]
    expected = [[[2, 3], [4, 5], [0, 1]], [[8, 9], [6, 7], [10, 11]]]
    assert ops.convert_to_numpy(found.tokens).tolist() == expected


@pytest.mark.every_backend
@pytest.mark.parametrize("with_sampling", (False, True), ids=("greedy", "sample"))
def test_result_does_not_depend_on_the_batch_or_the_padded_length(with_sampling):
    table = 2 * normal(9, 8, 8)
    randoms = np.random.default_rng(0).random((9, 9)).astype("float32")
    max_lengths = [5, 1, 4, 6, 2, 6, 6, 3, 6]

    def search(rows, length):
        rules = rules_of(*[max_lengths[i] for i in rows], length=length)
        if not with_sampling:
            return greedy_search(markov, table[rows], rules, with_scores=True)
        options = SearchOptions(temperature=1.5)
        return sample(markov, table[rows], rules, randoms[rows, :length], options)

    batched = search(range(9), 6)
    for rows, length in (([0], 5), ([3], 9), ([8, 5, 2], 7)):
        found = search(rows, length)
        expected = np.pad(np.array(tokens_of(batched))[rows], ((0, 0), (0, 3)))[:, :length]
        assert tokens_of(found) == expected.tolist()
        np.testing.assert_allclose(numpy(found.scores), numpy(batched.scores)[rows], rtol=1e-6)
