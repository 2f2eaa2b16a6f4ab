"""Beam search, with tables of random logits in place of a model."""

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
    """A fake model whose logits depend on all previous tokens.

    Args:
        logits: float32 (B, H, V), the next logits of each sentence after each history. A history is
            a number in base V whose digits are the tokens; the empty history is 0.
    """

    def __init__(self, logits):
        self.logits = logits
        self.sentences, self.histories, self.vocab_size = logits.shape
        shifted = logits.astype("float64")
        self.log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))

    @classmethod
    def random(cls, sentences, length, vocab_size=7, scale=2.0, seed=0):
        return cls(scale * normal(sentences, vocab_size ** (length - 1), vocab_size, seed=seed))

    def state(self, rows):
        """Returns the search state of the sentences with these indices: index and history."""
        rows = ops.convert_to_tensor(np.array(rows, "int32"))
        return {"sentence": rows, "history": ops.zeros_like(rows)}

    def __call__(self, last, position, state):
        history = state["history"] * self.vocab_size + ops.where(last == START_ID, 0, last)
        history = history % self.histories  # stays in range after a sentence has ended
        logits = ops.reshape(self.logits, (-1, self.vocab_size))
        logits = ops.take(logits, state["sentence"] * self.histories + history, axis=0)
        return logits, {"sentence": state["sentence"], "history": history}

    def score(self, sentence, tokens, alpha):
        history, total = 0, 0.0
        for token in tokens:
            total += self.log_probabilities[sentence, history, token]
            history = history * self.vocab_size + token
        return total / ((5 + len(tokens)) / 6) ** alpha

    def best(self, sentence, length, alpha):
        """Returns (score, tokens) of all translations up to `length` tokens, the best first."""
        words = range(END_ID + 1, self.vocab_size)
        texts = [x for n in range(length) for x in itertools.product(words, repeat=n)]
        found = [(*text, END_ID) for text in texts] + list(itertools.product(words, repeat=length))
        return sorted(((self.score(sentence, x, alpha), x) for x in found), reverse=True)


def rules_of(max_lengths, length=None):
    length = length or max(max_lengths)
    constraints = np.stack([make_constraints(0, n, length) for n in max_lengths])
    return Rules(ops.convert_to_tensor(constraints), with_forced=False)


def search(language, max_lengths, rows=None, length=None, **options):
    """Runs beam search for the sentences `rows`, with a maximum length for each."""
    rows, options = range(language.sentences) if rows is None else rows, SearchOptions(**options)
    state = language.state(np.repeat(rows, options.beam_size))
    return beam_search(language, state, rules_of(max_lengths, length), options)


def greedy(language, max_lengths):
    state = language.state(range(language.sentences))
    return greedy_search(language, state, rules_of(max_lengths), with_scores=True)


def results(found):
    """Returns [[(score, tokens without padding), ...] of each sentence]."""
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


def reference_beam_search(language, sentence, length, size, alpha):
    """Returns (score, tokens) of the final beam without early stopping, the best first."""
    beam = [((), True, False)]
    for _ in range(length):
        kept, others = [x for x in beam if x[2]], []
        for tokens, is_greedy, ended in beam:
            if ended:
                continue
            extensions = [(*tokens, token) for token in range(END_ID, language.vocab_size)]
            extensions.sort(key=lambda x: language.score(sentence, x, 0), reverse=True)
            for rank, new in enumerate(extensions):
                stays_greedy = is_greedy and rank == 0
                ends = new[-1] == END_ID or len(new) == length
                (kept if stays_greedy else others).append((new, stays_greedy, ends))
        others.sort(key=lambda x: language.score(sentence, x[0], 0), reverse=True)
        beam = [*kept, *others][:size]
    found = [(language.score(sentence, tokens, alpha), tokens) for tokens, *_ in beam]
    return sorted(found, reverse=True)


@pytest.mark.every_backend
def test_beam_of_one_is_greedy_search():
    language, max_lengths = Language.random(60, 5), [1 + i % 5 for i in range(60)]
    found, expected = search(language, max_lengths, length_penalty=0), greedy(language, max_lengths)
    check_same(results(found), results(expected))


@pytest.mark.every_backend
@pytest.mark.parametrize("alpha", (0, 0.6, 2))
def test_sufficiently_wide_beam_is_exhaustive_search(alpha):
    """Three words and the end token form 40 sequences of at most three tokens."""
    language = Language.random(8, 3)
    found = search(language, [3] * 8, beam_size=40, n_best=40, length_penalty=alpha)
    expected = [language.best(i, 3, alpha) for i in range(8)]
    assert len(expected[0]) == 40
    check_same(results(found), expected)


@pytest.mark.every_backend
def test_missing_hypotheses_score_minus_infinity():
    """Two words and the end token form seven sequences of at most two tokens."""
    language = Language.random(2, 2, vocab_size=6)
    found = results(search(language, [2, 1], beam_size=12, n_best=9))
    assert [np.isneginf([score for score, _ in some]).sum() for some in found] == [2, 6]
    check_same([found[0][:7], found[1][:3]], [language.best(0, 2, 0.6), language.best(1, 1, 0.6)])


@pytest.mark.parametrize(
    ("size", "n_best", "alpha"),
    ((2, 1, 0), (2, 2, 0.6), (3, 1, 2), (4, 2, 1), (5, 1, 0.6), (5, 4, 2)),
)
def test_early_stopping_is_exact_and_result_is_not_worse_than_greedy(size, n_best, alpha):
    language, max_lengths = Language.random(100, 5), [5, 3, 4, 5] * 25
    # A higher logit of the end token, so that the translations have various lengths.
    language = Language(language.logits + np.eye(7, dtype="float32")[END_ID])
    options = {"beam_size": size, "n_best": n_best, "length_penalty": alpha}
    found = results(search(language, max_lengths, **options))
    expected = [
        reference_beam_search(language, i, n, size, alpha)[:n_best]
        for i, n in enumerate(max_lengths)
    ]
    check_same(found, expected)
    assert all(len({tokens for _, tokens in some}) == n_best for some in found)
    for i, ((_, tokens),) in enumerate(results(greedy(language, max_lengths))):
        assert found[i][0][0] >= language.score(i, tokens, alpha) - 1e-4


def make_language(*probabilities):
    """Creates the language of one sentence with the tokens 4, 5 and the end token.

    Args:
        probabilities: pairs of a history, at most two tokens, and the probabilities of the end
            token, 4 and 5 after it.
    """
    logits = np.full((1, 36, 6), -99, "float32")
    for history, some in probabilities:
        index = sum(token * 6**i for i, token in enumerate(reversed(history)))
        logits[0, index, END_ID:] = np.log(some)
    return Language(logits)


def test_length_penalty_follows_the_paper_and_counts_the_end_token():
    """Scores computed by hand: the penalty of one word and the end token is ((5 + 2) / 6)^α."""
    language = make_language(
        ((), (0.4, 0.35, 0.25)), ((4,), (0.9, 0.05, 0.05)), ((5,), (0.5, 0.3, 0.2))
    )
    options = {"beam_size": 7, "n_best": 2}
    short, long = np.log(0.4), np.log(0.35 * 0.9)
    for alpha in (0.6, 2):
        penalized = long / (7 / 6) ** alpha
        expected = sorted([(short, (END_ID,)), (penalized, (4, END_ID))], reverse=True)
        check_same(results(search(language, [2], **options, length_penalty=alpha)), [expected])
    assert short > long
    assert short < long / (7 / 6) ** 2


def test_greedy_hypothesis_is_kept_while_others_score_higher():
    """Two prefixes outrank the greedy one, then turn out to have no probable continuation."""
    dead_end = (0.001, 0.4995, 0.4995)
    language = make_language(
        ((), (0.02, 0.5, 0.48)), ((4,), (0.3, 0.36, 0.34)), ((5,), (0.02, 0.49, 0.49)),
        ((4, 4), (0.998, 0.001, 0.001)), ((5, 4), dead_end), ((5, 5), dead_end),
    )  # fmt: skip
    ((best,),) = results(search(language, [3], beam_size=2, length_penalty=0))
    assert best[1] == (4, 4, END_ID)
    assert best[0] == pytest.approx(np.log(0.5 * 0.36 * 0.998), rel=1e-5)


class TestEarlyStopping:
    @pytest.fixture
    def steps(self, loop_steps):
        """A function that returns the number of steps of a beam of two, for at most three tokens.

        The constraints are padded to nine positions, which must not add steps.
        """

        def count(*probabilities, **options):
            search(make_language(*probabilities), [3], length=9, beam_size=2, **options)
            return loop_steps.pop()

        return count

    REST = (((4,), (0.2, 0.4, 0.4)), ((4, 4), (0.2, 0.4, 0.4)), ((4, 5), (0.2, 0.4, 0.4)))

    def test_stops_when_no_unfinished_hypothesis_can_win(self, steps):
        assert steps(((), (0.6, 0.3, 0.1)), *self.REST) == 1

    def test_continues_while_the_length_penalty_can_change_the_winner(self, steps):
        """ln 0.3 / (8 / 6)^α is greater than ln 0.6 only if α is above 2.98."""
        first = ((), (0.6, 0.3, 0.1))
        assert steps(first, *self.REST, length_penalty=2.9) == 1
        assert steps(first, *self.REST, length_penalty=3.1) > 1

    def test_continues_until_the_n_best_have_ended(self, steps):
        assert steps(((), (0.6, 0.3, 0.1)), *self.REST, n_best=2) > 1

    def test_stops_when_all_hypotheses_have_ended(self, steps):
        assert steps(((), (0.1, 0.8, 0.1)), ((4,), (0.6, 0.3, 0.1)), *self.REST[1:]) == 2


@pytest.mark.every_backend
def test_result_does_not_depend_on_the_batch_or_the_padded_length():
    language, max_lengths = Language.random(9, 5), [5, 1, 4, 5, 2, 5, 5, 3, 5]
    options = {"beam_size": 3, "n_best": 2, "length_penalty": 1}
    batched = results(search(language, max_lengths, **options))
    for rows, length in (([3], 5), ([8, 4, 2], 7)):
        found = search(language, [max_lengths[i] for i in rows], rows, length, **options)
        assert found.tokens.shape == (len(rows), 2, length)
        check_same(results(found), [batched[i] for i in rows])


def test_many_samples_include_the_best_translation():
    language, n = Language.random(1, 3), 200
    randoms = np.random.default_rng(0).random((n, 3)).astype("float32")
    options = SearchOptions(temperature=1.0, n_best=n)
    found = sample(language, language.state([0] * n), rules_of([3] * n), randoms, options)
    (found,) = results(found.group_rows(n))
    assert found == sorted(found, key=lambda x: -x[0])
    check_same([found[:1]], [language.best(0, 3, 0)[:1]])
