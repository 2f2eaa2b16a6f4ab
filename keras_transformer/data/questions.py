"""Training data for extractive question answering: windows with answer spans."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from keras_transformer._utils.reading import excerpt
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.wordpiece import WordPieceTokenizer


class Window(NamedTuple):
    """The input of BERT for a question and a part of its context.

    Attributes:
        ids: list of the token ids: `[CLS] question [SEP] context [SEP]`.
        segments: list of the segment ids, 0 for the question and 1 for the context.
        begin: index of the first context token.
        offsets: list of (start, end) for each context token, in characters of the whole context.
    """

    ids: list[int]
    segments: list[int]
    begin: int
    offsets: list[tuple[int, int]]


def question_windows(tokenizer, question, context, length):
    """Splits a context into windows that overlap by half, each with the question in front.

    Args:
        tokenizer: a `WordPieceTokenizer`.
        question: a text, truncated to half of a window.
        context: a text.
        length: maximum number of tokens of a window.

    Returns:
        List of `Window`.

    Raises:
        ValueError: if the question or the context has no tokens, or `length` is too small for both.
    """
    question_ids = tokenizer.encode(question).ids[: (length - 3) // 2]
    ids, offsets = tokenizer.encode(context)
    if not question_ids or not ids:
        raise ValueError(
            "Give a question and a context with words, and a length that fits both. "
            f"Received: {excerpt(question)}, a context of {len(ids)} tokens, length={length}"
        )
    size = length - 3 - len(question_ids)
    step = (size + 1) // 2
    begin = len(question_ids) + 2
    windows = []
    for start in range(0, max(len(ids) - size, 0) + step, step):
        joined = tokenizer.add_special_tokens(question_ids, ids[start : start + size])
        windows.append(Window(*joined, begin, offsets[start : start + size]))
    return windows


def answer_examples(
    tokenizer: WordPieceTokenizer, examples: Iterable[tuple[str, str, int, int]], length: int
) -> tuple[tuple[np.ndarray, np.ndarray], dict[str, np.ndarray]]:
    """Builds the inputs and targets for fine-tuning `AnsweringBert`.

    A long context is split into overlapping windows. In a window without the whole answer, the
    target is the first token, [CLS].

    Args:
        tokenizer: a `WordPieceTokenizer`.
        examples: list of (question, context, start, end); the answer is `context[start:end]`.
        length: S, the length of a window in tokens; shorter windows are padded.

    Returns:
        `((ids, segments), {"start", "end"})`: the input, int32 (windows, S) each, and the index of
        the first and the last token of the answer, int32 (windows,) each.

    Raises:
        ValueError: if an answer is not within its context or has no word, or a question or a
            context has no word.

    Example:
        >>> tokenizer = kt.WordPieceTokenizer.train(["who sleeps the dog sleeps"], min_count=1)
        >>> examples = [("who sleeps", "the dog sleeps", 4, 7)]  # the answer is "dog"
        >>> (ids, segments), spans = kt.answer_examples(tokenizer, examples, length=10)
        >>> tokenizer.tokens(ids[0])
        ['[CLS]', 'who', 'sleeps', '[SEP]', 'the', 'dog', 'sleeps', '[SEP]', '[PAD]', '[PAD]']
        >>> spans["start"].tolist(), spans["end"].tolist()
        ([5], [5])
    """
    rows = []
    for question, context, start, end in examples:
        if not 0 <= start < end <= len(context):
            raise ValueError(
                f"The answer must be within the context of {len(context)} characters. "
                f"Received: start={start}, end={end}"
            )
        if not tokenizer.encode(context[start:end]).ids:
            raise ValueError(
                f"The answer must contain a word. Received: {excerpt(context[start:end])}"
            )
        answer = context[start:end]  # without spaces at its edges, which belong to no token
        start, end = end - len(answer.lstrip()), start + len(answer.rstrip())
        for window in question_windows(tokenizer, question, context, length):
            rows.append((window.ids, window.segments, *_span(window, start, end)))
    ids, segments, starts, ends = zip(*rows, strict=True)
    spans = {"start": np.array(starts, "int32"), "end": np.array(ends, "int32")}
    return (pad_ids(ids, length), pad_ids(segments, length)), spans


def _span(window, start, end):
    """Returns the first and last token of an answer, or (0, 0) if the window has not all of it."""
    if window.offsets[0][0] > start or window.offsets[-1][1] < end:
        return 0, 0
    inside = [i for i, (s, e) in enumerate(window.offsets) if s < end and e > start]
    return window.begin + inside[0], window.begin + inside[-1]
