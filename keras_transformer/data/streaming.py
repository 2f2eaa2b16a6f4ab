"""Sentence pairs that do not fit into the memory."""

import codecs
import collections
import hashlib
import itertools
from pathlib import Path

import keras
import numpy as np

from keras_transformer._utils.checks import check_sizes
from keras_transformer.data.pairs import is_header, parse_line

# Some ten megabytes of text, and hundreds of batches: enough to find pairs of equal length.
BLOCK_PAIRS = 65_536


class PairFile:
    """A file of sentence pairs, of which one block at a time is in memory.

    It is read once from end to end when it is opened, to find where the blocks begin.

    Args:
        path: a file of tab-separated UTF-8 text, one pair per line: `.tsv` or `.txt`.
        keep: function from the two sentences to None, if the pair is to be kept, or to the reason
            why not.
        block_pairs: number of lines in a block.

    Attributes:
        digest: SHA-256 of the file, in hexadecimal digits.
        dropped: number of pairs left out, by reason.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is not such text, or no pair is kept.
    """

    def __init__(self, path, keep=lambda source, target: None, block_pairs=BLOCK_PAIRS):
        check_sizes(block_pairs=block_pairs)
        self.path = Path(path)
        self._keep = keep
        self._starts = []  # of the blocks: offset in bytes and number of the line before
        self.dropped = {}
        if self.path.suffix.lower() not in (".tsv", ".txt") or not self.path.is_file():
            raise FileNotFoundError(
                "Only tab-separated text, .tsv or .txt, can be streamed; scripts/prepare_data.py "
                f"writes it. Received: {path}"
            )
        self._length = self._scan(block_pairs)
        if not self._length:
            raise ValueError(f"{path} holds no pair to train on. Received: {self.dropped}")

    def __len__(self):
        return self._length

    def __iter__(self):
        for block in range(self.number_of_blocks):
            yield from self.read_block(block)

    @property
    def number_of_blocks(self):
        """The number of blocks."""
        return len(self._starts)

    def read_block(self, block):
        """The pairs of a block that are kept, a list of (source, target)."""
        offset, before = self._starts[block]
        end = self._starts[block + 1][0] if block + 1 < len(self._starts) else None
        with open(self.path, "rb") as file:
            file.seek(offset)
            data = file.read(None if end is None else end - offset)
        pairs = self._parse(data.split(b"\n"), before)
        return [pair for pair in pairs if self._keep(*pair) is None]

    def sentences(self, *sides):
        """All sentences of the source (0), the target (1) or both, as what can be read again."""
        return _Sentences(self, sides)

    def _scan(self, block_pairs):
        """Finds the blocks that hold anything, and returns the number of pairs kept."""
        total, before, offset = 0, 0, 0
        digest = hashlib.sha256()
        with open(self.path, "rb") as file:
            while lines := list(itertools.islice(file, block_pairs)):
                digest.update(b"".join(lines))
                kept = self._count(lines, before)
                if kept:
                    self._starts.append((offset, before))
                total += kept
                before, offset = before + len(lines), offset + sum(map(len, lines))
        self.digest = digest.hexdigest()
        return total

    def _count(self, lines, before):
        reasons = collections.Counter(self._keep(*pair) for pair in self._parse(lines, before))
        kept = reasons.pop(None, 0)
        self.dropped = dict(collections.Counter(self.dropped) + reasons)
        return kept

    def _parse(self, lines, before):
        for number, line in enumerate(lines, start=before + 1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            try:
                pair = parse_line(line.decode("utf-8"), number)
            except ValueError as error:
                raise ValueError(
                    f"Could not read sentence pairs from {self.path}, line {number}: {error}"
                ) from None
            if pair and not (number == 1 and is_header(pair)):
                yield tuple(side.strip() for side in pair)


class _Sentences:
    def __init__(self, file, sides):
        self._file, self._sides = file, sides

    def __iter__(self):
        return (pair[side] for pair in self._file for side in self._sides)


class StreamedBuckets(keras.utils.PyDataset):
    """Batches of a `PairFile`: those of `LengthBuckets`, block by block.

    The order of the blocks and the pairs in each of them are reshuffled for each epoch. It depends
    on the seed and the epoch alone, and each batch can be fetched by its index: training goes on
    anywhere.

    Args:
        file: a `PairFile`.
        make_batches: function from a list of pairs and a seed to their `LengthBuckets`.
        seed: of the order; None keeps it.

    Raises:
        ValueError: when a block turns out to have another number of batches than was counted.
    """

    def __init__(self, file, make_batches, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.file = file
        self.seed = seed
        self._make_batches = make_batches
        self._block_stats = None
        self.set_epoch(0)

    @property
    def block_stats(self):
        """Of each block the number of its batches, their lengths and their share of padding.

        The file is read once to count them, unless the counts of an equal one, which JSON can hold,
        are set before. Those of another number of blocks are not used.
        """
        if self._block_stats is None:
            opened = map(self._open, range(self.file.number_of_blocks))  # one at a time
            self._block_stats = [[len(x), x.shapes, x.padding_share] for x in opened]
        return self._block_stats

    @block_stats.setter
    def block_stats(self, stats):
        if stats is not None and len(stats) == self.file.number_of_blocks:
            self._block_stats = stats

    @property
    def shapes(self):
        """The lengths that occur."""
        return sorted({length for _, shapes, _ in self.block_stats for length in shapes})

    @property
    def padding_share(self):
        """The share of padding in all batches."""
        weights, _, shares = zip(*self.block_stats, strict=True)
        return float(np.average(shares, weights=weights))

    def set_epoch(self, epoch):
        """Goes to an epoch, the first being 0."""
        self.epoch = epoch
        self._order = np.arange(self.file.number_of_blocks)
        if self.seed is not None:
            np.random.default_rng((self.seed, epoch)).shuffle(self._order)
        self._loaded = None, None

    def on_epoch_end(self):
        self.set_epoch(self.epoch + 1)

    def __len__(self):
        return sum(number for number, _, _ in self.block_stats)

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(f"There are {len(self)} batches. Received: {index}")
        ends = np.cumsum([self.block_stats[block][0] for block in self._order])
        place = int(np.searchsorted(ends, index, side="right"))
        if self._loaded[0] != place:
            batches = self._open(self._order[place])
            self._check(self._order[place], batches)
            batches.set_epoch(self.epoch)
            self._loaded = place, batches
        return self._loaded[1][index - (ends[place] - len(self._loaded[1]))]

    def _open(self, block):
        seed = None if self.seed is None else self.seed + int(block)
        return self._make_batches(self.file.read_block(block), seed)

    def _check(self, block, batches):
        if len(batches) != self.block_stats[block][0]:
            raise ValueError(
                f"A block of {self.file.path} has {len(batches)} batches: they were counted by "
                "another version or for other settings. Remove batches.json from the run's folder. "
                f"Received: {self.block_stats[block][0]} in `block_stats`"
            )
