"""What BERT is trained on: texts with gaps."""

import itertools
from pathlib import Path

import keras
import numpy as np

from keras_transformer._utils.checks import check_rate, check_sizes
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.pairs import read_pairs

IS_NEXT, IS_RANDOM = 0, 1


def read_documents(path):
    """Reads a text file as a list of documents.

    Documents are separated by blank lines; if there is none, every line is one. Of a `.tsv` of
    sentence pairs, every source sentence is one.

    Args:
        path: path of a UTF-8 text file.

    Returns:
        List of texts.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it holds no text.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"No text file here; check the path. Received: {path}")
    if path.suffix == ".tsv":
        return [source for source, _ in read_pairs(path) if source]
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no UTF-8 text: {error}. Received: {path}") from None
    if not any(lines):
        raise ValueError(f"The file holds no text. Received: {path}")
    text = "\n".join(lines).strip("\n")
    documents = text.split("\n\n") if "\n\n" in text else text.split("\n")
    return [" ".join(document.split()) for document in documents if document.strip()]


def unigram_entropy(ids):
    """The smallest cross entropy of any guess that ignores the context.

    Args:
        ids: integers of any shape.

    Returns:
        The entropy of their frequencies, in nats.
    """
    _, counts = np.unique(ids, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


class PretrainingPairs(keras.utils.PyDataset):
    """Batches `((ids, segments, positions), {"words", "next"})` to pre-train a BERT on.

    Documents are cut into windows, every window between two words into two texts. For half of them
    the second text is replaced by one from another window (`next` is 0 if it follows, else 1). Of
    the words a share is to be guessed: 80% of these are replaced by [MASK], 10% by any word, 10%
    are left as they are. All of it is drawn anew for each epoch, by the seed and the number of the
    epoch alone. Give it to `model.fit` with `shuffle=False`: it shuffles itself.

    Shape letters: B batch, S = seq_length, M words to guess.

    Args:
        documents: list of texts.
        tokenizer: a `WordPieceTokenizer`.
        seq_length: S; what is shorter is padded.
        batch_size: B; what is left at the end of an epoch waits for the next.
        seed: an integer.
        mask_rate: share of the words to guess.
        dynamic: whether every epoch is drawn anew; False to validate.

    Raises:
        ValueError: if a size is not a positive integer, `mask_rate` not in [0, 1), or there are
            fewer windows of two words than a batch holds, or fewer than two.

    References:
        "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), section 3.1
        and appendix A; "RoBERTa" (Liu et al., 2019), section 4.1, for masks drawn anew.
    """

    def __init__(
        self,
        documents,
        tokenizer,
        seq_length,
        batch_size,
        seed,
        mask_rate=0.15,
        dynamic=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(seq_length=seq_length, batch_size=batch_size)
        check_rate(mask_rate=mask_rate)
        self.tokenizer = tokenizer
        self.seq_length = seq_length
        self.batch_size = batch_size
        self.seed = seed
        self.mask_rate = mask_rate
        self.dynamic = dynamic
        self._room = seq_length - 3  # [CLS] and twice [SEP]
        self._masks = max(1, round(mask_rate * self._room))  # M
        self._documents = [np.array(tokenizer.encode(text).ids, "int32") for text in documents]
        self._continues = tokenizer.continues()
        self._words = np.setdiff1d(np.arange(tokenizer.vocab_size), tokenizer.special_ids)
        self.set_epoch(0)
        if len(self._windows) < max(2, batch_size):
            raise ValueError(
                "There is too little text for a batch: give more, or a smaller `batch_size`. "
                f"Received: {len(self._windows)} windows, batch_size={batch_size}"
            )

    def set_epoch(self, epoch):
        """Goes to an epoch, the first being 0."""
        self.epoch = epoch
        random = np.random.default_rng((self.seed, epoch))
        windows = []
        for ids in self._documents:
            # A long document is cut at other places each time.
            first = random.integers(self._room) if len(ids) > self._room else 0
            edges = [0, *range(first or self._room, len(ids), self._room), len(ids)]
            windows += [ids[start:end] for start, end in itertools.pairwise(edges)]
        windows = [window for window in windows if len(self._cuts(window))]
        self._windows = [windows[i] for i in random.permutation(len(windows))]

    def on_epoch_end(self):
        if self.dynamic:
            self.set_epoch(self.epoch + 1)

    def word_entropy(self):
        """The `unigram_entropy` of the words to guess in this epoch: the loss to fall below."""
        words = [target["words"].ravel() for _, target in map(self.__getitem__, range(len(self)))]
        return unigram_entropy([word for batch in words for word in batch if word])

    def __len__(self):
        return len(self._windows) // self.batch_size

    def __getitem__(self, index):
        random = np.random.default_rng((self.seed, self.epoch, index))
        first = index * self.batch_size
        rows = [self._draw(random, row) for row in range(first, first + self.batch_size)]
        ids, segments, positions, words, follows = zip(*rows, strict=True)
        inputs = (self._pad(ids), self._pad(segments), pad_ids(positions, self._masks))
        return inputs, {"words": pad_ids(words, self._masks), "next": np.array(follows, "int32")}

    def _draw(self, random, row):
        first, second = self._cut(random, row)
        follows = IS_NEXT if random.random() < 0.5 else IS_RANDOM
        if follows == IS_RANDOM:
            other = (row + random.integers(1, len(self._windows))) % len(self._windows)
            second = self._cut(random, other)[1]
        ids, segments = self.tokenizer.add_special_tokens(first, second, self.seq_length)
        ids, positions, words = self._mask(random, np.array(ids))
        return ids, segments, positions, words, follows

    def _cut(self, random, row):
        window = self._windows[row]
        cut = random.choice(self._cuts(window))
        return window[:cut], window[cut:]

    def _cuts(self, window):
        """Where a word begins, the first word apart."""
        return 1 + np.flatnonzero(~self._continues[window[1:]])

    def _mask(self, random, ids):
        special = (self.tokenizer.cls_id, self.tokenizer.sep_id)
        places = np.flatnonzero(~np.isin(ids, special))
        count = min(self._masks, max(1, round(self.mask_rate * len(places))))
        positions = np.sort(random.choice(places, count, replace=False))
        words, masked = ids[positions], ids.copy()
        chance = random.random(count)
        replaced = np.where(chance < 0.8, self.tokenizer.mask_id, words)
        anything = random.choice(self._words, count)
        masked[positions] = np.where(chance >= 0.9, anything, replaced)
        return masked, positions, words

    def _pad(self, sequences):
        return pad_ids(sequences, self.seq_length)
