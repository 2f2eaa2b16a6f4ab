"""Pre-training data for BERT: masked tokens and next-sentence prediction."""

import itertools
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_transformer._utils.checks import check_integers, check_rate, check_sizes
from keras_transformer._utils.types import PathLike
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.limits import Limits, read_lines
from keras_transformer.data.pairs import read_pairs
from keras_transformer.data.wordpiece import WordPieceTokenizer

IS_NEXT, IS_RANDOM = 0, 1  # labels of next-sentence prediction


def read_documents(path: PathLike, data_limits: float = 1.0) -> list[str]:
    """Reads the documents of a text file.

    Documents are separated by blank lines. In a file without blank lines, every line is a document;
    in a `.tsv` file of sentence pairs, every source sentence is. Files may be compressed (`.gz`).

    Args:
        path: path of a UTF-8 text file.
        data_limits: factor of the limits of the file, see `read_pairs`.

    Returns:
        List of texts.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if it is not a regular file, is not UTF-8, is beyond a limit or contains no
            text.

    Example:
        >>> with open("text.txt", "w") as file:
        ...     print("A document", "of two lines.", "", "Another one.", sep="\\n", file=file)
        >>> kt.read_documents("text.txt")
        ['A document of two lines.', 'Another one.']
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"No text file here; check the path. Received: {path}")
    if path.name.lower().removesuffix(".gz").endswith(".tsv"):
        return [source for source, _ in read_pairs(path, data_limits=data_limits) if source]
    # Joined and split, because texts have line separators other than those of files.
    text = "\n".join(read_lines(path, Limits.scaled(data_limits)))
    lines = [line.strip() for line in text.splitlines()]
    if not any(lines):
        raise ValueError(f"The file contains no text. Received: {path}")
    text = "\n".join(lines).strip("\n")
    documents = text.split("\n\n") if "\n\n" in text else text.split("\n")
    return [" ".join(document.split()) for document in documents if document.strip()]


def unigram_entropy(ids):
    """Computes the unigram entropy: the lowest cross entropy of a model that ignores context.

    Args:
        ids: integers of any shape.

    Returns:
        The entropy of the frequencies of the ids in nats, a float.
    """
    _, counts = np.unique(ids, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


class PretrainingPairs(keras.utils.PyDataset):
    """Batches for pre-training BERT: masked-token and next-sentence prediction.

    A batch is `((ids, segments, positions), {"words", "next"})`, all int32. `ids` and `segments`
    (B, S) are the input. `positions` (B, M) are the positions of the tokens to predict and "words"
    (B, M) their original ids, both padded with 0. "next" (B,) is 0 if the second text follows the
    first, else 1.

    Documents are split into windows, and windows at a random word boundary into two texts. In half
    of the examples the second text comes from another window. Of the tokens to predict, 80% are
    replaced by [MASK] and 10% by a random token; 10% are unchanged. Everything is drawn anew for
    every epoch and depends on `seed` and the epoch only. Pass the dataset to `model.fit` with
    `shuffle=False`, because it shuffles itself.

    Shape letters: B batch, S = seq_length, M maximum number of tokens to predict.

    Args:
        documents: list of texts.
        tokenizer: a `WordPieceTokenizer`.
        seq_length: S; shorter examples are padded.
        batch_size: B. An epoch omits the examples that do not fill a batch.
        seed: an integer.
        mask_rate: share of the tokens to predict.
        dynamic: whether to draw anew for every epoch; False for validation.

    Raises:
        ValueError: if a size is not a positive integer, `mask_rate` is not in [0, 1), or there are
            fewer than `batch_size` or fewer than two windows with at least two words.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 3.1
        and appendix A; "RoBERTa" (Liu et al., 2019), section 4.1 (dynamic masking).

    Example:
        >>> texts = ["a small dog sleeps", "the old cat runs", "a bird sings here"]
        >>> tokenizer = kt.WordPieceTokenizer.train(texts, min_count=1)
        >>> batches = kt.PretrainingPairs(texts, tokenizer, seq_length=10, batch_size=3, seed=0)
        >>> (ids, segments, positions), targets = batches[0]
        >>> ids.shape, positions.shape, targets["words"].shape, targets["next"].shape
        ((3, 10), (3, 1), (3, 1), (3,))
    """

    def __init__(
        self,
        documents: list[str],
        tokenizer: WordPieceTokenizer,
        seq_length: int,
        batch_size: int,
        seed: int,
        mask_rate: float = 0.15,
        dynamic: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_integers(5, 10**9, seq_length=seq_length)  # two words, three special tokens
        check_sizes(batch_size=batch_size)
        check_rate(mask_rate=mask_rate)
        self.tokenizer = tokenizer
        self.seq_length = seq_length
        self.batch_size = batch_size
        self.seed = seed
        self.mask_rate = mask_rate
        self.dynamic = dynamic
        self._window_length = seq_length - 3  # without [CLS] and twice [SEP]
        self._max_masked = max(1, round(mask_rate * self._window_length))  # M
        self._documents = [np.array(tokenizer.encode(text).ids, "int32") for text in documents]
        self._is_continuation = tokenizer.continues()
        self._ordinary_ids = np.setdiff1d(np.arange(tokenizer.vocab_size), tokenizer.special_ids)
        self.set_epoch(0)
        if len(self._windows) < max(2, batch_size):
            raise ValueError(
                "There is too little text for a batch: give more text or a smaller `batch_size`. "
                f"Received: {len(self._windows)} windows, batch_size={batch_size}"
            )

    def set_epoch(self, epoch: int) -> None:
        """Starts an epoch, counted from 0; its examples depend on `seed` and `epoch` only."""
        self.epoch = epoch
        random = np.random.default_rng((self.seed, epoch))
        windows, length = [], self._window_length
        for ids in self._documents:
            # The first window of a long document has a random length, so that the windows differ
            # between epochs.
            first = random.integers(length) if len(ids) > length else 0
            edges = [0, *range(first or length, len(ids), length), len(ids)]
            windows += [ids[start:end] for start, end in itertools.pairwise(edges)]
        windows = [window for window in windows if len(self._split_points(window))]
        self._windows = [windows[i] for i in random.permutation(len(windows))]

    def on_epoch_end(self) -> None:
        if self.dynamic:
            self.set_epoch(self.epoch + 1)

    def word_entropy(self) -> float:
        """Computes the unigram entropy of the tokens to predict in this epoch, a baseline loss."""
        labels = [target["words"].ravel() for _, target in map(self.__getitem__, range(len(self)))]
        return unigram_entropy([label for batch in labels for label in batch if label])

    def __len__(self) -> int:
        return len(self._windows) // self.batch_size

    def __getitem__(self, index: int) -> Any:
        random = np.random.default_rng((self.seed, self.epoch, index))
        first = index * self.batch_size
        rows = [self._draw(random, row) for row in range(first, first + self.batch_size)]
        ids, segments, positions, labels, next_labels = zip(*rows, strict=True)
        inputs = (
            pad_ids(ids, self.seq_length),
            pad_ids(segments, self.seq_length),
            pad_ids(positions, self._max_masked),
        )
        labels = pad_ids(labels, self._max_masked)
        return inputs, {"words": labels, "next": np.array(next_labels, "int32")}

    def _draw(self, random, row):
        first, second = self._split(random, row)
        next_label = IS_NEXT if random.random() < 0.5 else IS_RANDOM
        if next_label == IS_RANDOM:
            other = (row + random.integers(1, len(self._windows))) % len(self._windows)
            second = self._split(random, other)[1]
        ids, segments = self.tokenizer.add_special_tokens(first, second, self.seq_length)
        ids, positions, labels = self._mask(random, np.array(ids))
        return ids, segments, positions, labels, next_label

    def _split(self, random, row):
        window = self._windows[row]
        cut = random.choice(self._split_points(window))
        return window[:cut], window[cut:]

    def _split_points(self, window):
        """Returns the indices at which a word begins, except for the first word."""
        return 1 + np.flatnonzero(~self._is_continuation[window[1:]])

    def _mask(self, random, ids):
        special = (self.tokenizer.cls_id, self.tokenizer.sep_id)
        candidates = np.flatnonzero(~np.isin(ids, special))
        count = min(self._max_masked, max(1, round(self.mask_rate * len(candidates))))
        positions = np.sort(random.choice(candidates, count, replace=False))
        labels, masked = ids[positions], ids.copy()
        draws = random.random(count)
        replaced = np.where(draws < 0.8, self.tokenizer.mask_id, labels)
        random_ids = random.choice(self._ordinary_ids, count)
        masked[positions] = np.where(draws >= 0.9, random_ids, replaced)
        return masked, positions, labels
