import itertools

import numpy as np
import pytest

from keras_transformer.data.questions import answer_examples, question_windows
from keras_transformer.data.wordpiece import WordPieceTokenizer

CONTEXT = "Anna likes apples. Tom likes unripe pears, and Lena likes plums."
# `min_count=2` makes it split some words into sub-words.
TOKENIZER = WordPieceTokenizer.train([CONTEXT, "Who likes?"], min_count=2)
QUESTION = "Who likes pears?"


def span(text):
    return CONTEXT.index(text), CONTEXT.index(text) + len(text)


def examples(start, end, length=100):
    return answer_examples(TOKENIZER, [(QUESTION, CONTEXT, start, end)], length)


class TestWindows:
    def test_a_short_text_fits_into_one_window(self):
        (window,) = question_windows(TOKENIZER, QUESTION, CONTEXT, 100)
        expected = TOKENIZER.add_special_tokens(
            TOKENIZER.encode(QUESTION).ids, TOKENIZER.encode(CONTEXT).ids
        )
        assert (window.ids, window.segments) == expected
        assert window.offsets == TOKENIZER.encode(CONTEXT).offsets
        assert window.ids[window.begin : -1] == TOKENIZER.encode(CONTEXT).ids

    @pytest.mark.parametrize("length", range(6, 70))
    def test_windows_cover_all_tokens_in_order(self, length):
        ids, offsets = TOKENIZER.encode(CONTEXT)
        windows, seen = question_windows(TOKENIZER, QUESTION, CONTEXT, length), set()
        for window in windows:
            assert len(window.ids) == len(window.segments) <= length
            part = window.ids[window.begin : -1]
            first = offsets.index(window.offsets[0])
            assert part == ids[first : first + len(part)]
            assert window.offsets == offsets[first : first + len(part)]
            seen |= set(window.offsets)
        assert seen == set(offsets)
        assert len(windows) == 1 or windows[0].offsets != windows[1].offsets

    def test_consecutive_windows_overlap_by_half(self):
        windows = question_windows(TOKENIZER, QUESTION, CONTEXT, 30)
        assert len(windows) > 2
        for one, other in itertools.pairwise(windows[:-1]):
            half = len(one.offsets) // 2
            assert one.offsets[-half:] == other.offsets[:half]

    @pytest.mark.parametrize(("question", "context"), [("", "a"), ("Who?", " "), ("", "")])
    def test_an_empty_question_or_context_is_refused(self, question, context):
        with pytest.raises(ValueError, match=r"question and a context .*length=20$"):
            question_windows(TOKENIZER, question, context, 20)


class TestExamples:
    @pytest.mark.parametrize("answer", ["apples", "unripe pears", "Anna", "plums.", CONTEXT])
    def test_start_and_end_are_the_first_and_last_token_of_the_answer(self, answer):
        (ids, segments), spans = examples(*span(answer))
        assert ids.shape == segments.shape == (1, 100)
        found = ids[0, spans["start"][0] : spans["end"][0] + 1]
        assert list(found) == TOKENIZER.encode(answer).ids
        assert (segments[0, spans["start"][0] : spans["end"][0] + 1] == 1).all()

    def test_an_answer_within_a_token_selects_the_whole_token(self):
        whole, part = examples(*span("likes"))[1], examples(*span("ike"))[1]
        assert whole["start"] <= part["start"] <= part["end"] <= whole["end"]

    def test_spaces_at_the_edges_of_the_text_belong_to_no_token(self):
        example = (QUESTION, f" {CONTEXT} ", 0, len(CONTEXT) + 2)
        (ids, _), spans = answer_examples(TOKENIZER, [example], 100)
        found = ids[0, spans["start"][0] : spans["end"][0] + 1]
        assert list(found) == TOKENIZER.encode(CONTEXT).ids

    def test_windows_without_the_answer_point_to_the_first_token(self):
        (ids, _), spans = examples(*span("plums"), length=30)
        assert ids.shape[0] > 2
        inside = spans["start"] > 0
        assert inside.any() and not inside.all()
        assert not spans["end"][~inside].any()
        for row in np.flatnonzero(inside):
            found = ids[row, spans["start"][row] : spans["end"][row] + 1]
            assert list(found) == TOKENIZER.encode("plums").ids

    @pytest.mark.parametrize(
        "bad", [(-1, 3), (3, 3), (5, 2), (0, len(CONTEXT) + 1), (len(CONTEXT), len(CONTEXT) + 4)]
    )
    def test_an_answer_outside_the_text_is_refused(self, bad):
        message = rf"of {len(CONTEXT)} characters\. Received: start={bad[0]}, end={bad[1]}$"
        with pytest.raises(ValueError, match=message):
            examples(*bad)

    def test_an_answer_without_a_word_is_refused(self):
        with pytest.raises(ValueError, match=r"must contain a word\. Received: ' '$"):
            examples(4, 5)
