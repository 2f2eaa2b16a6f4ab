"""Batches of equally long sentences."""

import keras
import numpy as np

from keras_transformer.special_tokens import PADDING_ID


def bucket_length(length):
    """The length to which a sequence is padded: 4, 6, 8, 12, 16, 24, 32, 48, …

    Few lengths mean few shapes to compile, steps of at most a half mean little padding.
    """
    bucket = 4
    while bucket < length:
        bucket = bucket * 3 // 2 if bucket & (bucket - 1) == 0 else bucket * 4 // 3
    return bucket


class LengthBuckets(keras.utils.PyDataset):
    """Batches `((source, target[:, :-1]), target[:, 1:])` of padded int32 ids.

    A pair belongs to the bucket of its longer side. Each batch holds pairs of one bucket and always
    `batch_size` rows (rows of padding fill the last batch of a bucket), so there are as many shapes
    as buckets. Padding and empty rows count nothing in the loss.

    It is what `model.fit` takes as well (with `shuffle=False`: it shuffles itself).

    Args:
        examples: list of (source ids, target ids), the target with its start and end.
        batch_size: rows in a batch, B.
        source_vocab_size: number of source words.
        target_vocab_size: number of target words.
        seed: reshuffles inside the buckets and the batches among each other for each epoch; None
            keeps the order.

    Raises:
        ValueError: if there are no examples or an id is outside its vocabulary.
    """

    def __init__(
        self, examples, batch_size, source_vocab_size, target_vocab_size, seed=None, **kwargs
    ):
        super().__init__(**kwargs)
        if not examples or batch_size < 1:
            raise ValueError(
                "Batches need examples and a positive size. "
                f"Received: {len(examples)} examples, batch_size={batch_size}"
            )
        sources, targets = zip(*examples, strict=True)
        _check_ids(sources, source_vocab_size, "source")
        _check_ids(targets, target_vocab_size, "target")
        self.batch_size = batch_size
        self.seed = seed
        self._buckets = _pad_into_buckets(sources, targets)
        self.set_epoch(0)

    @property
    def shapes(self):
        """The lengths that occur: one shape of batch each."""
        return list(self._buckets)

    @property
    def padding_share(self):
        """The share of padding in all sources and targets."""
        sizes = [ids.size for bucket in self._buckets.values() for ids in bucket]
        words = [np.count_nonzero(ids) for bucket in self._buckets.values() for ids in bucket]
        return 1 - sum(words) / sum(sizes)

    def set_epoch(self, epoch):
        """Goes to an epoch, the first being 0: its order depends on it and the seed alone."""
        self.epoch = epoch
        shuffle = self.seed is not None
        random = np.random.default_rng((self.seed, epoch)) if shuffle else None
        self._plan = []
        for length, (source, _) in self._buckets.items():
            rows = random.permutation(len(source)) if shuffle else np.arange(len(source))
            for start in range(0, len(rows), self.batch_size):
                self._plan.append((length, rows[start : start + self.batch_size]))
        if shuffle:
            random.shuffle(self._plan)
        self._vary_the_beginning()

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
        source, target = (self._fill(ids[rows]) for ids in self._buckets[length])
        return (source, target[:, :-1]), target[:, 1:]

    def _fill(self, ids):
        missing = self.batch_size - len(ids)
        return np.pad(ids, ((0, missing), (0, 0)), constant_values=PADDING_ID)


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


def _pad_into_buckets(sources, targets):
    # The decoder reads one id less than the target has.
    pairs = zip(sources, targets, strict=True)
    lengths = [bucket_length(max(len(x), len(y) - 1)) for x, y in pairs]
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
