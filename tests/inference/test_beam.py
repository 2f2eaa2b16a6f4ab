"""Beam search. It knows no model: a fake whose every sentence has logits of its own will do."""

import itertools

import numpy as np
import pytest
from keras import ops
from layer_contract import normal, numpy

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID
from keras_transformer.inference.beam import beam_search
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.rules import Rules, make_constraints
from keras_transformer.inference.search import greedy_search, sample


class Language:
    """Sentences in which the logits of the next word depend on all the words before.

    Args:
        logits: float32 (B, H, V): those of each sentence after each history. A history is a number
            of base V, whose digits are the words; the empty one is 0.
    """

    def __init__(self, logits):
        self.logits = logits
        self.sentences, self.histories, self.words = logits.shape
        shifted = logits.astype("float64")
        self.log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))

    @classmethod
    def at_random(cls, sentences, length, words=7, scale=2.0, seed=0):
        return cls(scale * normal(sentences, words ** (length - 1), words, seed=seed))

    def state(self, rows):
        """That of the sentences with these indices: which one it is, and its history."""
        rows = ops.convert_to_tensor(np.array(rows, "int32"))
        return {"sentence": rows, "history": ops.zeros_like(rows)}

    def __call__(self, last, position, state):
        history = state["history"] * self.words + ops.where(last == START_ID, 0, last)
        history = history % self.histories  # of sentences that have ended
        logits = ops.reshape(self.logits, (-1, self.words))
        logits = ops.take(logits, state["sentence"] * self.histories + history, axis=0)
        return logits, {"sentence": state["sentence"], "history": history}

    def score(self, sentence, tokens, alpha):
        history, total = 0, 0.0
        for word in tokens:
            total += self.log_probabilities[sentence, history, word]
            history = history * self.words + word
        return total / ((5 + len(tokens)) / 6) ** alpha

    def best(self, sentence, length, alpha):
        """(score, tokens) of all translations of at most `length` tokens, the best first."""
        words = range(END_ID + 1, self.words)
        stems = [s for n in range(length) for s in itertools.product(words, repeat=n)]
        found = [(*stem, END_ID) for stem in stems] + list(itertools.product(words, repeat=length))
        return sorted(((self.score(sentence, x, alpha), x) for x in found), reverse=True)


def rules_of(longest, room=None):
    constraints = np.stack([make_constraints(0, some, room or max(longest)) for some in longest])
    return Rules(ops.convert_to_tensor(constraints), with_forced=False)


def search(language, longest, rows=None, room=None, **options):
    """Searches translations of the sentences `rows` that have at most `longest` tokens each."""
    rows, options = range(language.sentences) if rows is None else rows, SearchOptions(**options)
    state = language.state(np.repeat(rows, options.beam_size))
    return beam_search(language, state, rules_of(longest, room), options)


def greedy(language, longest):
    state = language.state(range(language.sentences))
    return greedy_search(language, state, rules_of(longest), with_scores=True)


def results(found):
    """[[(score, tokens without padding), ...] of each sentence]."""
    scores, tokens = numpy(found.scores), ops.convert_to_numpy(found.tokens)
    return [
        [(s, tuple(int(i) for i in t if i != PADDING_ID)) for s, t in zip(*pair, strict=True)]
        for pair in zip(scores, tokens, strict=True)
    ]


def check_same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert [tokens for _, tokens in ours] == [tokens for _, tokens in theirs]
        scores = [[score for score, _ in some] for some in (ours, theirs)]
        np.testing.assert_allclose(*scores, rtol=1e-4)


def by_hand(language, sentence, length, size, alpha):
    """(score, tokens) of all that the beam holds in the end if it is never stopped early."""
    beam = [((), True, False)]
    for _ in range(length):
        kept, others = [x for x in beam if x[2]], []
        for tokens, is_greedy, ended in beam:
            if ended:
                continue
            following = [(*tokens, word) for word in range(END_ID, language.words)]
            following.sort(key=lambda x: language.score(sentence, x, 0), reverse=True)
            for rank, new in enumerate(following):
                goes_on = is_greedy and rank == 0
                ends = new[-1] == END_ID or len(new) == length
                (kept if goes_on else others).append((new, goes_on, ends))
        others.sort(key=lambda x: language.score(sentence, x[0], 0), reverse=True)
        beam = [*kept, *others][:size]
    found = [(language.score(sentence, tokens, alpha), tokens) for tokens, *_ in beam]
    return sorted(found, reverse=True)


@pytest.mark.every_backend
def test_a_beam_of_one_is_the_greedy_search():
    language, longest = Language.at_random(60, 5), [1 + i % 5 for i in range(60)]
    found, expected = search(language, longest, length_penalty=0), greedy(language, longest)
    check_same(results(found), results(expected))


@pytest.mark.every_backend
@pytest.mark.parametrize("alpha", (0, 0.6, 2))
def test_a_beam_wide_enough_finds_the_best_of_all_sentences(alpha):
    """Of three words and the end there are 40 sentences of at most three tokens."""
    language = Language.at_random(8, 3)
    found = search(language, [3] * 8, beam_size=40, n_best=40, length_penalty=alpha)
    expected = [language.best(i, 3, alpha) for i in range(8)]
    assert len(expected[0]) == 40
    check_same(results(found), expected)


@pytest.mark.every_backend
def test_places_without_a_sentence_are_impossible():
    """Of two words and the end there are seven sentences of at most two tokens."""
    language = Language.at_random(2, 2, words=6)
    found = results(search(language, [2, 1], beam_size=12, n_best=9))
    assert [np.isneginf([score for score, _ in some]).sum() for some in found] == [2, 6]
    check_same([found[0][:7], found[1][:3]], [language.best(0, 2, 0.6), language.best(1, 1, 0.6)])


@pytest.mark.parametrize(
    ("size", "n_best", "alpha"),
    ((2, 1, 0), (2, 2, 0.6), (3, 1, 2), (4, 2, 1), (5, 1, 0.6), (5, 4, 2)),
)
def test_stopping_early_loses_nothing_and_no_beam_is_worse_than_greedy(size, n_best, alpha):
    language, longest = Language.at_random(100, 5), [5, 3, 4, 5] * 25
    language = Language(
        language.logits + np.eye(7, dtype="float32")[END_ID]
    )  # lengths of all kinds
    options = {"beam_size": size, "n_best": n_best, "length_penalty": alpha}
    found = results(search(language, longest, **options))
    expected = [by_hand(language, i, n, size, alpha)[:n_best] for i, n in enumerate(longest)]
    check_same(found, expected)
    assert all(len({tokens for _, tokens in some}) == n_best for some in found)
    for i, ((_, tokens),) in enumerate(results(greedy(language, longest))):
        assert found[i][0][0] >= language.score(i, tokens, alpha) - 1e-4


def spelled(*probabilities):
    """The logits of one sentence of words 4 and 5 after each history of at most two of them.

    Args:
        probabilities: pairs of a history and the probabilities of the end, 4 and 5 after it.
    """
    logits = np.full((1, 36, 6), -99, "float32")
    for history, some in probabilities:
        logits[0, sum(word * 6**i for i, word in enumerate(reversed(history))), END_ID:] = np.log(
            some
        )
    return Language(logits)


def test_the_length_penalty_is_that_of_the_paper_and_counts_the_end():
    """ln ½ · ln-sums worked out by hand; (5 + 2) / 6 for a word and the end."""
    language = spelled(((), (0.4, 0.35, 0.25)), ((4,), (0.9, 0.05, 0.05)), ((5,), (0.5, 0.3, 0.2)))
    options = {"beam_size": 7, "n_best": 2}
    short, long = np.log(0.4), np.log(0.35 * 0.9)
    for alpha in (0.6, 2):
        penalised = long / (7 / 6) ** alpha
        expected = sorted([(short, (END_ID,)), (penalised, (4, END_ID))], reverse=True)
        check_same(results(search(language, [2], **options, length_penalty=alpha)), [expected])
    assert short > long
    assert short < long / (7 / 6) ** 2


def test_the_greedy_translation_is_returned_though_others_are_better_on_the_way():
    """Two beginnings drive out the greedy one, and then prove to be dead ends."""
    third = (0.001, 0.4995, 0.4995)
    language = spelled(
        ((), (0.02, 0.5, 0.48)), ((4,), (0.3, 0.36, 0.34)), ((5,), (0.02, 0.49, 0.49)),
        ((4, 4), (0.998, 0.001, 0.001)), ((5, 4), third), ((5, 5), third),
    )  # fmt: skip
    ((best,),) = results(search(language, [3], beam_size=2, length_penalty=0))
    assert best[1] == (4, 4, END_ID)
    assert best[0] == pytest.approx(np.log(0.5 * 0.36 * 0.998), rel=1e-5)


class TestStoppingEarly:
    @pytest.fixture
    def steps(self, loop_steps):
        """The number of steps of a beam of two for three tokens at most, whatever the room."""

        def count(*probabilities, **options):
            search(spelled(*probabilities), [3], room=9, beam_size=2, **options)
            return loop_steps.pop()

        return count

    REST = (((4,), (0.2, 0.4, 0.4)), ((4, 4), (0.2, 0.4, 0.4)), ((4, 5), (0.2, 0.4, 0.4)))

    def test_when_no_open_hypothesis_can_win(self, steps):
        assert steps(((), (0.6, 0.3, 0.1)), *self.REST) == 1

    def test_not_while_one_might_win_by_its_length(self, steps):
        """ln 0.3 / (8 / 6)^α is greater than ln 0.6 only if α is above 2.98."""
        beginning = ((), (0.6, 0.3, 0.1))
        assert steps(beginning, *self.REST, length_penalty=2.9) == 1
        assert steps(beginning, *self.REST, length_penalty=3.1) > 1

    def test_not_before_the_n_best_have_ended(self, steps):
        assert steps(((), (0.6, 0.3, 0.1)), *self.REST, n_best=2) > 1

    def test_when_every_place_is_taken(self, steps):
        assert steps(((), (0.1, 0.8, 0.1)), ((4,), (0.6, 0.3, 0.1)), *self.REST[1:]) == 2


@pytest.mark.every_backend
def test_a_sentence_has_the_same_result_alone_and_among_others_and_in_more_room():
    language, longest = Language.at_random(9, 5), [5, 1, 4, 5, 2, 5, 5, 3, 5]
    options = {"beam_size": 3, "n_best": 2, "length_penalty": 1}
    among = results(search(language, longest, **options))
    for rows, room in (([3], 5), ([8, 4, 2], 7)):
        found = search(language, [longest[i] for i in rows], rows, room, **options)
        assert found.tokens.shape == (len(rows), 2, room)
        check_same(results(found), [among[i] for i in rows])


def test_enough_samples_find_the_best_translation_as_a_wide_beam_does():
    language, n = Language.at_random(1, 3), 200
    randoms = np.random.default_rng(0).random((n, 3)).astype("float32")
    options = SearchOptions(temperature=1.0, n_best=n)
    found = sample(language, language.state([0] * n), rules_of([3] * n), randoms, options)
    (found,) = results(found.group_rows(n))
    assert found == sorted(found, key=lambda x: -x[0])
    check_same([found[:1]], [language.best(0, 3, 0)[:1]])
