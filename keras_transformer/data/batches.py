"""Batches of sentence pairs, bucketed by length."""

import itertools
import math
from typing import NamedTuple

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


class TokenBlock(NamedTuple):
    """The token ids of sentence pairs, without padding.

    Attributes:
        source: integer ids of all sources, one after another.
        target: integer ids of all targets, likewise, with start and end token.
        lengths: number of source ids and of target ids of each pair, integers (pairs, 2).
    """

    source: np.ndarray
    target: np.ndarray
    lengths: np.ndarray

    @classmethod
    def from_examples(cls, examples):
        """Returns the block of a list of (source ids, target ids)."""
        sides = [
            np.fromiter(itertools.chain.from_iterable(side), "int64")
            for side in zip(*examples, strict=True)
        ]
        lengths = np.array([[len(ids) for ids in pair] for pair in examples])
        return cls(*sides, lengths)

    def padded_lengths(self):
        """Returns the length to which each pair is padded, (pairs,): that of its longer side."""
        # The decoder reads all target ids except the last one.
        source, target = self.lengths.astype("int64").T
        longest = np.maximum(source, target - 1)
        different, index = np.unique(longest, return_inverse=True)
        return np.array([bucket_length(int(n), steps=4) for n in different])[index]


class BatchSize:
    """The number of rows of a batch: fixed, or for a fixed number of tokens.

    Args:
        rows: number of rows per batch, B; None if `tokens` is given.
        tokens: number of tokens per batch and side, including padding. Batches of short pairs
            have more rows than batches of long ones.
        multiple: batches of padding are added until the number of batches is a multiple of this.

    Raises:
        ValueError: if not exactly one of `rows` and `tokens` is given and positive.
    """

    def __init__(self, rows, tokens=None, multiple=1):
        size = given(batch_size=rows, batch_tokens=tokens)
        if len(size) != 1:
            raise ValueError(
                "Give either `batch_size` or `batch_tokens`. "
                f"Received: batch_size={rows}, batch_tokens={tokens}"
            )
        check_sizes(**size, multiple=multiple)
        self._rows = rows
        self._tokens = tokens
        self._multiple = multiple

    def rows(self, length):
        """Returns the number of rows of a batch with this sequence length."""
        return self._rows or max(1, self._tokens // length)

    def batches(self, pairs):
        """Returns the number of batches by length, given the number of pairs by length.

        The batches of padding are counted with the shortest ones.
        """
        numbers = {length: -(-number // self.rows(length)) for length, number in pairs.items()}
        numbers[min(numbers)] += -sum(numbers.values()) % self._multiple
        return numbers

    def padding_share(self, pairs, tokens):
        """Returns the share of padding in all batches, including rows and batches of padding.

        Args:
            pairs: number of pairs by length.
            tokens: number of their tokens on both sides.
        """
        # The targets of a batch have one id more than the decoder reads.
        numbers = self.batches(pairs).items()
        return 1 - tokens / sum(n * self.rows(length) * (2 * length + 1) for length, n in numbers)


class LengthBuckets(keras.utils.PyDataset):
    """Batches `((source, target[:, :-1]), target[:, 1:])` of padded int32 ids.

    The length of its longer side assigns a pair to a bucket. All batches of a bucket have the same
    shape: rows of padding fill the last one. Padding does not contribute to the loss.

    `model.fit` accepts this dataset, too. Pass `shuffle=False`, because the dataset shuffles
    itself.

    Args:
        examples: list of (source ids, target ids), the targets with start and end token; a
            `TokenBlock` of them; or a function without arguments that returns one of these, called
            for every epoch.
        batch_size: number of rows per batch, B; None if `batch_tokens` is given.
        source_vocab_size: size of the source vocabulary.
        target_vocab_size: size of the target vocabulary.
        seed: seed of the shuffling, which draws a new order for every epoch; None for no shuffling.
        batch_tokens: number of tokens per batch and side, see `BatchSize`.
        multiple: the number of batches is a multiple of this, see `BatchSize`.

    Raises:
        ValueError: if there are no examples, an id is padding or outside its vocabulary, or not
            exactly one of `batch_size` and `batch_tokens` is given and positive.
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
        self._size = BatchSize(batch_size, batch_tokens, multiple)
        self._vocab_sizes = (source_vocab_size, target_vocab_size)
        self.seed = seed
        self._make_examples = examples if callable(examples) else None
        if not self._make_examples:
            self._set_examples(examples)
        self.set_epoch(0)

    def _set_examples(self, examples):
        if not len(examples):
            raise ValueError("Give at least one example. Received: none")
        if not isinstance(examples, TokenBlock):
            examples = TokenBlock.from_examples(examples)
        _check_ids(examples.source, self._vocab_sizes[0], "source")
        _check_ids(examples.target, self._vocab_sizes[1], "target")
        self._ids = (examples.source, examples.target)
        self._lengths = examples.lengths.astype("int64")
        self._starts = np.cumsum(self._lengths, axis=0) - self._lengths
        lengths = examples.padded_lengths()
        self._buckets = {int(n): np.flatnonzero(lengths == n) for n in np.unique(lengths)}

    @property
    def shapes(self):
        """The sequence lengths of the batches, one per bucket."""
        return list(self._buckets)

    @property
    def padding_share(self):
        """The share of padding in all batches, including rows and batches of padding."""
        return self._size.padding_share(self._pairs, int(self._lengths.sum()))

    @property
    def _pairs(self):
        """The number of pairs by length."""
        return {length: len(rows) for length, rows in self._buckets.items()}

    def set_epoch(self, epoch):
        """Starts an epoch, counted from 0; its order depends on `seed` and `epoch` only."""
        self.epoch = epoch
        if self._make_examples:
            self._set_examples(self._make_examples())
        shuffle = self.seed is not None
        random = np.random.default_rng((self.seed, epoch)) if shuffle else None
        self._plan = []
        for length, rows in self._buckets.items():
            order = rows[random.permutation(len(rows))] if shuffle else rows
            size = self._size.rows(length)
            for start in range(0, len(order), size):
                self._plan.append((length, order[start : start + size]))
        if shuffle:
            random.shuffle(self._plan)
        self._vary_first_lengths()
        number = sum(self._size.batches(self._pairs).values())
        self._plan += [(self.shapes[0], np.arange(0))] * (number - len(self._plan))

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
        return self.read_part(index)[0]

    def read_part(self, index, part=0, parts=1, multiple=1):
        """Returns a part of the rows of a batch, the only ones that are padded.

        Args:
            index: index of the batch.
            part: index of the part.
            parts: number of parts, which have the same number of rows.
            multiple: rows of padding are added to the batch until the number of its rows is a
                multiple of this, which is a multiple of `parts`.

        Returns:
            `((source, target_input), target)`, and the number of target tokens of the whole batch.
        """
        length, rows = self._plan[index]
        count = self._size.rows(length)
        count = (count + -count % multiple) // parts
        own = rows[part * count : (part + 1) * count]
        source = self._pad(0, own, (count, length))
        target = self._pad(1, own, (count, length + 1))
        tokens = int((self._lengths[rows, 1] - 1).sum())
        return ((source, target[:, :-1]), target[:, 1:]), tokens

    def _pad(self, side, rows, shape):
        """Returns the ids of one side of some pairs, one per row."""
        padded = np.full(shape, PADDING_ID, "int32")
        columns = np.arange(shape[1])
        inside = columns < self._lengths[rows, side, None]
        ids = self._ids[side][(self._starts[rows, side, None] + columns)[inside]]
        padded[: len(rows)][inside] = ids
        return padded


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


def _check_ids(ids, vocab_size, side):
    lowest, highest = (int(ids.min()), int(ids.max())) if len(ids) else (1, 1)
    if lowest <= PADDING_ID or highest >= vocab_size:
        raise ValueError(
            f"The {side} ids must be in [1, {vocab_size}): encode the sentences with the tokenizer "
            f"of this vocabulary. Received: ids from {lowest} to {highest}"
        )
