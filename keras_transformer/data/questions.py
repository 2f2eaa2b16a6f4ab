"""Questions with the texts that hold their answers."""

from typing import NamedTuple

import numpy as np

from keras_transformer.data.batches import pad_ids


class Window(NamedTuple):
    """A question and a part of a text, as BERT reads them.

    Attributes:
        ids: list of token ids.
        segments: list of the same length.
        begin: index of the first token of the text.
        offsets: list of (start, end) in characters of the text, one for each token of it.
    """

    ids: list
    segments: list
    begin: int
    offsets: list


def question_windows(tokenizer, question, context, length):
    """Lays windows over a text that is too long to be read at once; half of each is in the next.

    Args:
        tokenizer: a `WordPieceTokenizer`.
        question: a text, cut to half of the room.
        context: a text.
        length: number of tokens of the longest window.

    Returns:
        List of `Window`.

    Raises:
        ValueError: if question or context have no words, or there is no room for both.
    """
    asked = tokenizer.encode(question).ids[: (length - 3) // 2]
    ids, offsets = tokenizer.encode(context)
    if not asked or not ids:
        raise ValueError(
            "There must be a question and a text, and room for both. "
            f"Received: {question!r}, a text of {len(ids)} tokens, length={length}"
        )
    room = length - 3 - len(asked)
    step = (room + 1) // 2
    begin = len(asked) + 2
    windows = []
    for start in range(0, max(len(ids) - room, 0) + step, step):
        joined = tokenizer.add_special_tokens(asked, ids[start : start + room])
        windows.append(Window(*joined, begin, offsets[start : start + room]))
    return windows


def answer_examples(tokenizer, examples, length):
    """What `AnsweringBert` is fine-tuned on.

    A window without the answer has its answer at the first token, [CLS].

    Args:
        tokenizer: a `WordPieceTokenizer`.
        examples: list of (question, context, start, end); the answer is `context[start:end]`.
        length: S, the length of a window.

    Returns:
        `((ids, segments), {"start", "end"})`: int32, (windows, S), and the index of the answer's
        first and last token, (windows,).

    Raises:
        ValueError: if an answer is outside its text, or no word of it.
    """
    rows = []
    for question, context, start, end in examples:
        if not 0 <= start < end <= len(context):
            raise ValueError(
                f"The answer must be within the text, of {len(context)} characters. "
                f"Received: start={start}, end={end}"
            )
        if not tokenizer.encode(context[start:end]).ids:
            raise ValueError(f"The answer has no word. Received: {context[start:end]!r}")
        for window in question_windows(tokenizer, question, context, length):
            rows.append((window.ids, window.segments, *_span(window, start, end)))
    ids, segments, starts, ends = zip(*rows, strict=True)
    spans = {"start": np.array(starts, "int32"), "end": np.array(ends, "int32")}
    return (pad_ids(ids, length), pad_ids(segments, length)), spans


def _span(window, start, end):
    """The first and the last token of an answer, or twice 0 if it is not all in the window."""
    if window.offsets[0][0] > start or window.offsets[-1][1] < end:
        return 0, 0
    inside = [i for i, (s, e) in enumerate(window.offsets) if s < end and e > start]
    return window.begin + inside[0], window.begin + inside[-1]
