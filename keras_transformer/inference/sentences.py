"""Input checks, random numbers and output ids that all searches share."""

import numpy as np

from keras_transformer._utils.special_tokens import END_ID
from keras_transformer.runs.data_settings import MAX_SOURCE_TOKENS


def check_texts(texts, what, number=None, first=1):
    """Checks that an argument is a list or tuple of strings.

    Args:
        texts: the argument.
        what: its description for messages, such as "a list of sentences".
        number: the number of sentences if each needs an entry; None for any length.
        first: the number of the first text in messages.

    Raises:
        TypeError: if `texts` is not a list or tuple of strings.
        ValueError: if its length is not `number`, or a text has an unpaired surrogate.
    """
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        received = f"{type(texts).__name__}: {texts!r}"[:150]
        raise TypeError(f"Give a text or {what}. Received: {received}")
    if number not in (None, len(texts)):
        raise ValueError(
            f'Give {what} with an entry for each of the {number} sentences, "" for none. '
            f"Received: {len(texts)}"
        )
    for i, text in enumerate(texts, start=first):
        check_unicode(text, f"text {i} of {what}")


def check_unicode(text, name):
    """Raises a ValueError if a string has an unpaired surrogate, half of a character.

    Args:
        text: a string.
        name: its description for messages, such as "the question".
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            "Texts must be valid Unicode: decode the bytes of the text as UTF-8, or remove the "
            f"unpaired surrogates. Received: {text[error.start]!r} in {name}"
        ) from None


def check_token_count(number, tokens, limit=MAX_SOURCE_TOKENS):
    """Raises a ValueError if a sentence has too many tokens; `number` counts from 1, or is text."""
    if tokens > limit:
        raise ValueError(
            f"Sentence {number} is too long: split it into sentences of at most "
            f"{limit} tokens. Received: {tokens:,} tokens"
        )


def max_source_tokens(model):
    """Returns the number of tokens that a sentence may have, without the end token."""
    limit = getattr(model, "enc_seq_length", None)
    return MAX_SOURCE_TOKENS if limit is None else min(MAX_SOURCE_TOKENS, limit - 1)


def draw_random_numbers(sources, length, options, first=None):
    """Returns the random numbers for sampling.

    They depend on the seed and the sentence only, not on the batch or the backend.

    Args:
        sources: a list of ids per sentence.
        length: L, the maximum length.
        options: the `SearchOptions`: seed and n best.
        first: number of the first sample of each sentence; 0 by default.

    Returns:
        float32 (B, n, L), uniform in [0, 1).
    """
    return np.stack(
        [
            [
                np.random.default_rng([options.seed, k, *ids]).random(length, dtype="float32")
                for k in range(start, start + options.n_best)
            ]
            for start, ids in zip(first or [0] * len(sources), sources, strict=True)
        ]
    )


def trim_padding(ids):
    """Returns the ids of one sequence, (L,), as a list without the padding after the end."""
    ids = [int(i) for i in ids]
    if END_ID in ids:
        return ids[: ids.index(END_ID) + 1]
    return [i for i in ids if i]  # cut off at the maximum length, without an end token
