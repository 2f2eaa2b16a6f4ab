"""What every translator asks of the sentences that it is given."""

from keras_transformer.config import MAX_SOURCE_TOKENS


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
