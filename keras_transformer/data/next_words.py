"""Training data for language models: tokens and the tokens that follow them."""

from typing import Any

import numpy as np

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.tokenizers import encode_target


def next_words(
    tokenizer: Any, texts: list[str], seq_length: int = 64
) -> tuple[np.ndarray, np.ndarray]:
    """Builds the training data of a language model: at every position, the next token is predicted.

    Args:
        tokenizer: a `WordTokenizer` or `SubwordTokenizer`.
        texts: list of texts; each is enclosed in a start and an end token.
        seq_length: maximum length T of the sequences; longer texts are split.

    Returns:
        Inputs and targets for `model.fit` with `MaskedCrossEntropy`: int32 (sequences, T) each,
        padded at the end.

    Raises:
        ValueError: if `seq_length` is not a positive integer or there is no text.

    Example:
        >>> tokenizer = kt.WordTokenizer.train(["a small dog"])
        >>> inputs, targets = kt.next_words(tokenizer, ["a small dog"])
        >>> tokenizer.tokens(inputs[0]), tokenizer.tokens(targets[0])
        (['[START]', '▁a', '▁small', '▁dog'], ['▁a', '▁small', '▁dog', '[END]'])
    """
    chunks = _chunks(tokenizer, texts, seq_length)
    ids = pad_ids(chunks, max(map(len, chunks)))
    return ids[:, :-1], ids[:, 1:]


def ngram_prefixes(
    tokenizer: Any, texts: list[str], seq_length: int = 64
) -> tuple[np.ndarray, np.ndarray]:
    """Builds the training data of a language model: for each prefix of a text, its next token.

    Recurrent language models are often trained this way. The padding is in front, so that the last
    token of the prefix is at the last position. The predictions and the loss are those of
    `next_words`, but training takes longer, because a token occurs in all prefixes that contain it.

    Args:
        tokenizer: see `next_words`.
        texts: see `next_words`.
        seq_length: see `next_words`.

    Returns:
        Inputs and targets for `model.fit` with `MaskedCrossEntropy`: int32 (prefixes, T) each. The
        inputs are padded at the beginning; the targets are padding except for the last position.

    Raises:
        ValueError: see `next_words`.

    Example:
        >>> tokenizer = kt.WordTokenizer.train(["a small dog"])
        >>> inputs, targets = kt.ngram_prefixes(tokenizer, ["a small dog"])
        >>> tokenizer.tokens(inputs[1]), tokenizer.tokens(targets[1])
        (['[PAD]', '[PAD]', '[START]', '▁a'], ['[PAD]', '[PAD]', '[PAD]', '▁small'])
    """
    chunks = _chunks(tokenizer, texts, seq_length)
    length = max(map(len, chunks)) - 1
    ends = [(chunk, end) for chunk in chunks for end in range(1, len(chunk))]
    inputs = pad_ids([chunk[:end][::-1] for chunk, end in ends], length)[:, ::-1]
    targets = np.full_like(inputs, PADDING_ID)
    targets[:, -1] = [chunk[end] for chunk, end in ends]
    return inputs, targets


def _chunks(tokenizer, texts, seq_length):
    """Returns the ids of all texts in chunks of up to `seq_length` + 1, which overlap by one id."""
    check_sizes(seq_length=seq_length)
    chunks = [
        ids[start : start + seq_length + 1]
        for ids in (encode_target(tokenizer, text) for text in texts)
        for start in range(0, len(ids) - 1, seq_length)
    ]
    if not chunks:
        raise ValueError(f"Give at least one text to train on. Received: texts={excerpt(texts)}")
    return chunks
