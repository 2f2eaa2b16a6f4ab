"""What a language model is trained on: words, and the word that comes next."""

import numpy as np

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.tokenizers import encode_target


def next_words(tokenizer, texts, seq_length=64):
    """Each text once: at every position the next word is to be predicted.

    Args:
        tokenizer: a `WordTokenizer` or `SubwordTokenizer`.
        texts: list of texts, each between a start and an end.
        seq_length: greatest number T of words that are read together; longer texts are cut.

    Returns:
        Inputs and targets for `model.fit` with `MaskedCrossEntropy`: int32 (B, T) both, padded at
        the end.

    Raises:
        ValueError: if `seq_length` is not a positive integer or there is no text.
    """
    pieces = _pieces(tokenizer, texts, seq_length)
    ids = pad_ids(pieces, max(map(len, pieces)))
    return ids[:, :-1], ids[:, 1:]


def ngram_prefixes(tokenizer, texts, seq_length=64):
    """Each beginning of each text by itself: only the word after it is to be predicted.

    This is how recurrent language models are often taught, with the padding first, so that the
    last word always stands at the end. The predictions are those of `next_words`, and so is the
    loss; only, each word is read as often as there are words after it.

    Args:
        tokenizer: see `next_words`.
        texts: see `next_words`.
        seq_length: see `next_words`.

    Returns:
        Inputs and targets likewise: int32 (number of beginnings, T) both; the inputs are padded at
        the beginning, the targets are padding but for the last.

    Raises:
        ValueError: see `next_words`.
    """
    pieces = _pieces(tokenizer, texts, seq_length)
    length = max(map(len, pieces)) - 1
    ends = [(piece, end) for piece in pieces for end in range(1, len(piece))]
    inputs = pad_ids([piece[:end][::-1] for piece, end in ends], length)[:, ::-1]
    targets = np.full_like(inputs, PADDING_ID)
    targets[:, -1] = [piece[end] for piece, end in ends]
    return inputs, targets


def _pieces(tokenizer, texts, seq_length):
    """The ids of all texts, cut where `seq_length` words can be followed by one more."""
    check_sizes(seq_length=seq_length)
    pieces = [
        ids[start : start + seq_length + 1]
        for ids in (encode_target(tokenizer, text) for text in texts)
        for start in range(0, len(ids) - 1, seq_length)
    ]
    if not pieces:
        raise ValueError(f"A language model needs text to learn from. Received: texts={texts!r}")
    return pieces
