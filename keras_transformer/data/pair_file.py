"""Sentence pairs of a file that does not fit into memory."""

import collections
import contextlib
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.command_line import KEEP_TEXT, command_line
from keras_transformer._utils.reading import check_regular
from keras_transformer._utils.types import PathLike
from keras_transformer.data.limits import Limits, decode_lines
from keras_transformer.data.table_pairs import columns_of_header, parse_line

# About ten megabytes of text and hundreds of batches: enough to fill batches of similar length.
BLOCK_PAIRS = 65_536
# Blocks of long lines have fewer pairs, so that a block always fits into memory.
BLOCK_BYTES = 1 << 26


class PairFile:
    """A file of sentence pairs that is read block by block.

    The constructor reads the whole file once to find the blocks and to count the pairs.

    Args:
        path: path of a file of tab-separated UTF-8 text, `.tsv` or `.txt`, one pair per line.
        rejection_reason: function of a source and a target sentence that returns None to accept the
            pair, or the reason to drop it.
        block_pairs: number of lines per block. A block of 64 MiB ends earlier.
        data_limits: factor of the maximum length of a line, 100,000 characters. The size of the
            file and the number of lines are not limited.

    Attributes:
        dropped: dictionary from each reason to the number of pairs dropped for it.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if the file is not `.tsv` or `.txt`, is not tab-separated UTF-8 text, has a line
            that is too long, or has no accepted pair.
    """

    def __init__(
        self,
        path: PathLike,
        rejection_reason: Callable[[str, str], str | None] = lambda source, target: None,
        block_pairs: int = BLOCK_PAIRS,
        data_limits: float = 1.0,
    ) -> None:
        check_sizes(block_pairs=block_pairs)
        self.path = Path(path)
        self._rejection_reason = rejection_reason
        self._limits = dataclasses.replace(
            Limits.scaled(data_limits), max_bytes=math.inf, max_lines=math.inf
        )
        self._blocks: list[
            tuple[int, int, int]
        ] = []  # offset, size in bytes and number of lines before the block
        self._indices: tuple[int, int] = (0, 1)  # of the columns, which a header may change
        self._first: int | None = None  # number of the first line that is not blank
        self.dropped: dict[str, int] = {}
        if self.path.suffix.lower() not in (".tsv", ".txt"):
            raise ValueError(
                "Only .tsv and .txt files are read block by block; convert other formats with: "
                f"{command_line('prepare-data', path, 'pairs.tsv', *KEEP_TEXT)}. Received: {path}"
            )
        if not self.path.exists():
            raise FileNotFoundError(
                f"No file of sentence pairs here; check the path. Received: {path}"
            )
        check_regular(self.path)
        self._scan(block_pairs)
        if not self._blocks:
            raise ValueError(f"{path} contains no pair to train on. Received: {self.dropped}")

    def blocks(self) -> Iterator[list[tuple[str, str]]]:
        """Yields the accepted pairs of each block, a list of (source, target)."""
        with open(self.path, "rb") as file:
            for offset, size, previous_lines in self._blocks:
                file.seek(offset)
                pairs = self._parse(file.read(size), previous_lines)
                yield [pair for pair in pairs if self._rejection_reason(*pair) is None]

    def sentences(self, *sides: int) -> Iterable[str]:
        """Returns an iterable of the sentences of the source (0), the target (1) or both.

        It can be iterated over several times.
        """
        return _Sentences(self, sides)

    def _scan(self, block_pairs):
        """Finds the blocks with accepted pairs."""
        previous_lines, offset = 0, 0
        with open(self.path, "rb") as file:
            while lines := self._read_lines(file, previous_lines, block_pairs):
                data = b"".join(lines)
                if self._count_accepted(data, previous_lines):
                    self._blocks.append((offset, len(data), previous_lines))
                previous_lines, offset = previous_lines + len(lines), offset + len(data)

    def _read_lines(self, file, previous_lines, block_pairs):
        """Reads the lines of a block, bytes."""
        lines, size, refused = [], 0, self._limits.refused_line_bytes
        read = functools.partial(file.readline, refused)
        while len(lines) < block_pairs and size < BLOCK_BYTES and (line := read()):
            lines.append(line)
            size += len(line)
            if len(line) == refused:
                with self._naming_the_file():
                    self._limits.check_line_bytes(refused, f"line {previous_lines + len(lines)}")
        return lines

    def _count_accepted(self, data, previous_lines):
        pairs = self._parse(data, previous_lines)
        reasons = collections.Counter(self._rejection_reason(*pair) for pair in pairs)
        accepted = reasons.pop(None, 0)
        self.dropped = dict(collections.Counter(self.dropped) + reasons)
        return accepted

    def _parse(self, data, previous_lines):
        """Yields the pairs in the lines of a block."""
        with self._naming_the_file():
            data = data.removesuffix(b"\n")
            lines = decode_lines(data, self.path.name, previous_lines, self._limits)
            for number, line in enumerate(lines, start=previous_lines + 1):
                if self._first is None and line.strip():
                    self._first = number
                if number == self._first and (header := columns_of_header(line.split("\t"))):
                    self._indices = header
                elif pair := parse_line(line, number, self._indices):
                    yield pair[0].strip(), pair[1].strip()

    @contextlib.contextmanager
    def _naming_the_file(self):
        try:
            yield
        except ValueError as error:
            raise ValueError(f"Could not read sentence pairs from {self.path}: {error}") from error


class _Sentences:
    def __init__(self, file, sides):
        self._file, self._sides = file, sides

    def __iter__(self):
        pairs = itertools.chain.from_iterable(self._file.blocks())
        return (pair[side] for pair in pairs for side in self._sides)
