"""Training data for language models: next words and n-gram prefixes."""

import numpy as np
import pytest

from keras_transformer import WordTokenizer, next_words, ngram_prefixes
from keras_transformer._utils.special_tokens import END_ID, START_ID

TEXTS = ["a b c", "b"]
TOKENIZER = WordTokenizer.train(TEXTS)
A, B, C = (TOKENIZER.encode(word)[0] for word in "abc")


def test_targets_are_the_next_words_and_the_end_token():
    inputs, targets = next_words(TOKENIZER, TEXTS)
    assert inputs.tolist() == [[START_ID, A, B, C], [START_ID, B, END_ID, 0]]
    assert targets.tolist() == [[A, B, C, END_ID], [B, END_ID, 0, 0]]
    assert inputs.dtype == targets.dtype == "int32"


def test_prefixes_are_padded_on_the_left_with_the_target_last():
    inputs, targets = ngram_prefixes(TOKENIZER, TEXTS)
    s = START_ID
    rows = [[0, 0, 0, s], [0, 0, s, A], [0, s, A, B], [s, A, B, C], [0, 0, 0, s], [0, 0, s, B]]
    assert inputs.tolist() == rows
    assert targets[:, -1].tolist() == [A, B, C, END_ID, B, END_ID]
    assert not targets[:, :-1].any()
    assert inputs.dtype == targets.dtype == "int32"


@pytest.mark.parametrize("seq_length", (1, 2, 3, 4, 9))
def test_long_texts_are_split_without_losing_words(seq_length):
    inputs, targets = next_words(TOKENIZER, TEXTS, seq_length)
    assert inputs.shape[1] <= seq_length
    assert targets[targets != 0].tolist() == [A, B, C, END_ID, B, END_ID]
    _, last = ngram_prefixes(TOKENIZER, TEXTS, seq_length)
    np.testing.assert_array_equal(last[:, -1], targets[targets != 0])


@pytest.mark.parametrize("make", (next_words, ngram_prefixes))
def test_bad_arguments_are_refused(make):
    with pytest.raises(ValueError, match=r"at least one text .*Received: texts=\[\]$"):
        make(TOKENIZER, [])
    with pytest.raises(ValueError, match="`seq_length` must be a positive int"):
        make(TOKENIZER, TEXTS, seq_length=0)
