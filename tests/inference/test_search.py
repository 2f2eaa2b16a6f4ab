"""The search knows no model: a fake that spells words will do."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.inference.search import greedy_search
from keras_transformer.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID

LETTERS = {letter: i for i, letter in enumerate("abcdefghijklmnopqrstuvwxyz", start=4)}
VOCAB_SIZE = 4 + len(LETTERS)


def ids_of(word):
    return [LETTERS[letter] for letter in word]


def speller(words, length):
    """A function from tokens to logits that spells one word in each row, and its state."""
    rows = [[*ids_of(word), END_ID, *[PADDING_ID] * (length - len(word))] for word in words]
    script = ops.convert_to_tensor(np.array(rows, "int32"))
    steps = ops.zeros((len(words),), dtype="int32")

    def spell(last, position, state):
        script, steps = state
        here = ops.take(script, position, axis=1)
        return ops.one_hot(here, VOCAB_SIZE), (script, steps + 1)

    return spell, (script, steps)


def search(words, max_length):
    spell, state = speller(words, length=12)
    return ops.convert_to_numpy(greedy_search(spell, state, len(words), max_length)).tolist()


def test_it_spells_words_of_different_lengths():
    assert search(["cab", "a", "dog"], 6) == [
        [*ids_of("cab"), END_ID, 0, 0],
        [*ids_of("a"), END_ID, 0, 0, 0, 0],
        [*ids_of("dog"), END_ID, 0, 0],
    ]


def test_it_stops_at_the_longest_length():
    assert search(["letter"], 3) == [ids_of("let")]


def test_it_hands_over_the_last_tokens_their_position_and_the_state():
    """Each token is the one before plus one; only the last token and the state tell."""

    def count(last, position, state):
        following = ops.where(ops.equal(last, START_ID), 4, last + 1) + state - state
        following = ops.where(position + 4 < 8, following, END_ID)
        return ops.one_hot(following, VOCAB_SIZE), state + 0

    found = greedy_search(count, ops.ones((2,), dtype="int32"), 2, 7)
    assert ops.convert_to_numpy(found).tolist() == [[4, 5, 6, 7, END_ID, 0, 0]] * 2


@pytest.mark.parametrize("forbidden", [PADDING_ID, UNKNOWN_ID, START_ID])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_some_tokens_are_never_chosen(forbidden, dtype):
    logits = np.zeros((1, VOCAB_SIZE), "float32")
    logits[0, [forbidden, LETTERS["x"]]] = [6e4, 1.0]

    def propose(last, position, state):
        return ops.cast(ops.convert_to_tensor(logits), dtype), state

    found = greedy_search(propose, ops.zeros((1,)), 1, 2)
    assert ops.convert_to_numpy(found).tolist() == [ids_of("xx")]


def test_it_stops_as_soon_as_every_sequence_has_ended():
    calls = ops.zeros((2,), dtype="int32")
    spell, (script, _) = speller(["ab", "abcd"], length=12)
    limits = []

    def counted(last, position, state):
        script, calls = state
        limits.append(position)
        return spell(last, position, (script, calls))

    greedy_search(counted, (script, calls), 2, 12)
    assert len(limits) <= 5  # eager backends call it once a token, compiled ones once
