"""What every search asks of the sentences that it is given, and makes of what it has found."""

import numpy as np

from keras_transformer._utils.special_tokens import END_ID
from keras_transformer.runs.config import MAX_SOURCE_TOKENS


def check_texts(texts, what, number=None):
    """Refuses anything but a list of texts.

    Args:
        texts: what was given.
        what: what it should have been, such as "a list of sentences".
        number: of sentences, each of which needs a text; None: any number of texts.

    Raises:
        TypeError: if it is no list or tuple of strings.
        ValueError: if it has another length.
    """
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        received = f"{type(texts).__name__}: {texts!r}"[:150]
        raise TypeError(f"Give a text or {what}. Received: {received}")
    if number not in (None, len(texts)):
        raise ValueError(
            f"Give {what} with an entry for each of the {number} sentences, empty where there is "
            f"none. Received: {len(texts)}"
        )


def check_length(number, tokens):
    """Raises a ValueError if sentence `number`, counted from 1, has too many tokens."""
    if tokens > MAX_SOURCE_TOKENS:
        raise ValueError(
            f"Sentence {number} is too long: split it into sentences of at most "
            f"{MAX_SOURCE_TOKENS} tokens. Received: {tokens:,} tokens"
        )


def draw_randoms(sources, length, options):
    """What the samples of each sentence are drawn with.

    They depend on the seed and the sentence alone, not on its place nor on the backend.

    Args:
        sources: a list of ids for each sentence.
        length: L, the greatest number of tokens.
        options: `SearchOptions`.

    Returns:
        float32 (B, n, L), uniform in [0, 1).
    """
    return np.stack(
        [
            [
                np.random.default_rng([options.seed, k, *ids]).random(length, dtype="float32")
                for k in range(options.n_best)
            ]
            for ids in sources
        ]
    )


def until_end(ids):
    """The ids of one sequence, (L,), as a list up to its end, or up to the padding."""
    ids = [int(i) for i in ids]
    if END_ID in ids:
        return ids[: ids.index(END_ID) + 1]
    return [i for i in ids if i]  # ended by its greatest length; then padding
