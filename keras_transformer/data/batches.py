"""Batches of sentence pairs, bucketed by length."""

import math

import keras
import numpy as np

from keras_transformer._utils.checks import check_sizes, given
from keras_transformer._utils.special_tokens import PADDING_ID


def next_power_of_4(number):
    """Returns 1, 4, 16, …, the first that is at least `number`: few sizes to compile."""
    return 4 ** math.ceil(math.log(number, 4))


def bucket_length(length, steps=2):
    """Returns the length to which a sequence is padded: 4, 6, 8, 12, 16, 24, 32, 48, …

    Few different lengths mean few shapes to compile; short distances mean little padding.

    Args:
        length: number of tokens.
        steps: number of lengths per power of two. Lengths are at least 2 tokens apart.

    Returns:
        The smallest of these lengths that is at least `length`.
    """
    if length <= 4:
        return 4
    below = 1 << ((length - 1).bit_length() - 1)
    step = max(2, below // steps)
    return math.ceil(length / step) * step


class LengthBuckets(keras.utils.PyDataset):
    """Batches `((source, target[:, :-1]), target[:, 1:])` of padded int32 ids.

    The length of its longer side assigns a pair to a bucket. All batches of a bucket have the same
    shape: rows of padding fill the last one. Padding does not contribute to the loss.

    `model.fit` accepts this dataset, too. Pass `shuffle=False`, because the dataset shuffles
    itself.

    Args:
        examples: list of (source ids, target ids), the targets with start and end token; or a
            function without arguments that returns such a list, called for every epoch.
        batch_size: number of rows per batch, B; None if `batch_tokens` is given.
        source_vocab_size: size of the source vocabulary.
        target_vocab_size: size of the target vocabulary.
        seed: seed of the shuffling, which draws a new order for every epoch; None for no shuffling.
        batch_tokens: number of tokens per batch and side, including padding. Batches of short pairs
            have more rows than batches of long ones.
        multiple: batches of padding are added until the number of batches is a multiple of this.

    Raises:
        ValueError: if there are no examples, an id is outside its vocabulary, or not exactly one of
            `batch_size` and `batch_tokens` is given and positive.
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
                "Give either `batch_size` or `batch_tokens`. "
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
        """The sequence lengths of the batches, one per bucket."""
        return list(self._buckets)

    @property
    def padding_share(self):
        """The share of padding in all batches, including rows and batches of padding."""
        widths = {n: sum(ids.shape[1] for ids in both) for n, both in self._buckets.items()}
        size = sum(self.rows(length) * widths[length] for length, _ in self._plan)
        tokens = [np.count_nonzero(ids) for bucket in self._buckets.values() for ids in bucket]
        return 1 - sum(tokens) / size

    def rows(self, length):
        """Returns the number of rows of a batch with this sequence length."""
        return self.batch_size or max(1, self.batch_tokens // length)

    def set_epoch(self, epoch):
        """Starts an epoch, counted from 0; its order depends on `seed` and `epoch` only."""
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
        self._vary_first_lengths()
        empty = (self.shapes[0], np.arange(0))
        self._plan += [empty] * (-len(self._plan) % self.multiple)

    def _vary_first_lengths(self):
        # `fit` on TensorFlow infers the shape of all batches from the first two: it accepts
        # batches of other lengths only if the lengths of these two differ.
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
        padding = ((0, self.rows(length) - len(rows)), (0, 0))
        source, target = (
            np.pad(ids[rows], padding, constant_values=PADDING_ID) for ids in self._buckets[length]
        )
        return (source, target[:, :-1]), target[:, 1:]


def pad_ids(sequences, length):
    """Pads lists of ids to one array.

    Args:
        sequences: lists of integer ids, at most `length` each.
        length: L, the length of the rows.

    Returns:
        The ids, padded at the end, int32 (number of sequences, L).
    """
    padded = np.full((len(sequences), length), PADDING_ID, dtype="int32")
    for row, ids in zip(padded, sequences, strict=True):
        row[: len(ids)] = ids
    return padded


def _pad_into_buckets(examples, vocab_sizes):
    if not examples:
        raise ValueError("Give at least one example. Received: none")
    sources, targets = zip(*examples, strict=True)
    _check_ids(sources, vocab_sizes[0], "source")
    _check_ids(targets, vocab_sizes[1], "target")
    # The decoder reads all target ids except the last one.
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
            f"The {side} ids must be in [0, {vocab_size}): encode the sentences with the tokenizer "
            f"of this vocabulary. Received: ids from {lowest} to {highest}"
        )
