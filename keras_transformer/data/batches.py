"""Batches of equally long sentences."""

import math

import keras
import numpy as np

from keras_transformer._utils.checks import check_sizes, given
from keras_transformer._utils.special_tokens import PADDING_ID


def bucket_length(length, steps=2):
    """The length to which a sequence is padded: 4, 6, 8, 12, 16, 24, 32, 48, …

    Few lengths mean few shapes to compile, small steps mean little padding.

    Args:
        length: number of tokens.
        steps: number of lengths from one power of two to the next, at least 2 tokens apart.

    Returns:
        The least of these lengths that is enough.
    """
    if length <= 4:
        return 4
    below = 1 << ((length - 1).bit_length() - 1)
    step = max(2, below // steps)
    return math.ceil(length / step) * step


class LengthBuckets(keras.utils.PyDataset):
    """Batches `((source, target[:, :-1]), target[:, 1:])` of padded int32 ids.

    A pair belongs to the bucket of its longer side. Each batch holds pairs of one bucket and always
    as many rows (rows of padding fill the last batch of a bucket), so there are as many shapes as
    buckets. Padding and empty rows count nothing in the loss.

    It is what `model.fit` takes as well (with `shuffle=False`: it shuffles itself).

    Args:
        examples: list of (source ids, target ids), the target with its start and end; or a function
            without arguments that makes such a list anew for each epoch.
        batch_size: rows in a batch, B; None if `batch_tokens` says it.
        source_vocab_size: number of source words.
        target_vocab_size: number of target words.
        seed: reshuffles inside the buckets and the batches among each other for each epoch; None
            keeps the order.
        batch_tokens: tokens in a batch on each side, padding included: short pairs come in more
            rows than long ones.
        multiple: batches of nothing but padding are added until their number is a multiple of this.

    Raises:
        ValueError: if there are no examples, an id is outside its vocabulary, or not exactly one of
            the sizes is given and positive.
    """

    def __init__(
        self,
        examples,
        batch_size,
        source_vocab_size,
        target_vocab_size,
        seed=None,
        batch_tokens=None,
        multiple=1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        size = given(batch_size=batch_size, batch_tokens=batch_tokens)
        if len(size) != 1:
            raise ValueError(
                "Give the size of a batch either in rows or in tokens. "
                f"Received: batch_size={batch_size}, batch_tokens={batch_tokens}"
            )
        check_sizes(**size)
        self._vocab_sizes = (source_vocab_size, target_vocab_size)
        self.batch_size = batch_size
        self.batch_tokens = batch_tokens
        self.multiple = multiple
        self.seed = seed
        self._make_examples = examples if callable(examples) else None
        if not self._make_examples:
            self._buckets = _pad_into_buckets(examples, self._vocab_sizes)
        self.set_epoch(0)

    @property
    def shapes(self):
        """The lengths that occur: one shape of batch each."""
        return list(self._buckets)

    @property
    def padding_share(self):
        """The share of padding in all batches, rows of nothing else included."""
        widths = {n: sum(ids.shape[1] for ids in both) for n, both in self._buckets.items()}
        size = sum(self.rows(length) * widths[length] for length, _ in self._plan)
        words = [np.count_nonzero(ids) for bucket in self._buckets.values() for ids in bucket]
        return 1 - sum(words) / size

    def rows(self, length):
        """The number of rows in a batch of this length."""
        return self.batch_size or max(1, self.batch_tokens // length)

    def set_epoch(self, epoch):
        """Goes to an epoch, the first being 0: its order depends on it and the seed alone."""
        self.epoch = epoch
        if self._make_examples:
            self._buckets = _pad_into_buckets(self._make_examples(), self._vocab_sizes)
        shuffle = self.seed is not None
        random = np.random.default_rng((self.seed, epoch)) if shuffle else None
        self._plan = []
        for length, (source, _) in self._buckets.items():
            order = random.permutation(len(source)) if shuffle else np.arange(len(source))
            size = self.rows(length)
            for start in range(0, len(order), size):
                self._plan.append((length, order[start : start + size]))
        if shuffle:
            random.shuffle(self._plan)
        self._vary_the_beginning()
        empty = (self.shapes[0], np.arange(0))
        self._plan += [empty] * (-len(self._plan) % self.multiple)

    def _vary_the_beginning(self):
        # `fit` on TensorFlow judges all batches by the first two: it takes other lengths only if
        # these two are of different lengths.
        plan = self._plan
        for i, (length, _) in enumerate(plan):
            if length != plan[0][0]:
                plan[1], plan[i] = plan[i], plan[1]
                return

    def on_epoch_end(self):
        self.set_epoch(self.epoch + 1)

    def __len__(self):
        return len(self._plan)

    def __getitem__(self, index):
        length, rows = self._plan[index]
        fill = ((0, self.rows(length) - len(rows)), (0, 0))
        source, target = (
            np.pad(ids[rows], fill, constant_values=PADDING_ID) for ids in self._buckets[length]
        )
        return (source, target[:, :-1]), target[:, 1:]


def pad_ids(sequences, length):
    """Lists of ids as one array.

    Args:
        sequences: lists of integer ids, none longer than `length`.
        length: L.

    Returns:
        int32, (number of sequences, L), padded at the end.
    """
    padded = np.full((len(sequences), length), PADDING_ID, dtype="int32")
    for row, ids in zip(padded, sequences, strict=True):
        row[: len(ids)] = ids
    return padded


def _pad_into_buckets(examples, vocab_sizes):
    if not examples:
        raise ValueError("Batches need examples. Received: none")
    sources, targets = zip(*examples, strict=True)
    _check_ids(sources, vocab_sizes[0], "source")
    _check_ids(targets, vocab_sizes[1], "target")
    # The decoder reads one id less than the target has.
    pairs = zip(sources, targets, strict=True)
    lengths = [bucket_length(max(len(x), len(y) - 1), steps=4) for x, y in pairs]
    buckets = {}
    for length in sorted(set(lengths)):
        rows = [i for i, other in enumerate(lengths) if other == length]
        buckets[length] = (
            pad_ids([sources[i] for i in rows], length),
            pad_ids([targets[i] for i in rows], length + 1),
        )
    return buckets


def _check_ids(sequences, vocab_size, side):
    ids = [i for sequence in sequences for i in sequence]
    lowest, highest = min(ids, default=0), max(ids, default=0)
    if lowest < 0 or highest >= vocab_size:
        raise ValueError(
            f"The {side} ids must be in [0, {vocab_size}): these are of another vocabulary. "
            f"Received: ids from {lowest} to {highest}"
        )
