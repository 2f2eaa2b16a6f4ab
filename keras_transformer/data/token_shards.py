"""Token ids in files, for training data that does not fit into memory."""

import hashlib
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_transformer import __version__
from keras_transformer._utils.checks import check_integers
from keras_transformer._utils.command_line import command_line
from keras_transformer._utils.reading import check_regular, excerpt, read_json
from keras_transformer._utils.types import PathLike
from keras_transformer.data.batches import BatchSize, LengthBuckets, TokenBlock

DESCRIPTION = "tokens.json"
SETTINGS = ("tokenizer", "vocab_size", "share_vocabulary", "max_length")  # of `RunConfig`
_FORMAT = 1
_MAX_SHARD = 1 << 30  # bytes, of which all are in memory at a time; honest shards have some 10 MB
_DTYPES = ("uint16", "uint32")


class TokenShards:
    """The token ids of the training pairs in a folder, read shard by shard.

    A shard, such as `00000.npy`, is one array of unsigned integers: the number of source ids and of
    target ids of each pair, then all source ids, then all target ids. Sources have an end token,
    targets a start token and an end token. `tokens.json` has the settings and, for each shard, its
    size, its SHA-256 digest, and its number of pairs by padded length and of their tokens, so that
    the batches are counted without reading the shards.

    Args:
        folder: path of a folder that `write_token_shards` has written.

    Attributes:
        settings: dictionary of the fields of `RunConfig` that the data was prepared with.
        dropped: dictionary from each reason to the number of pairs dropped for it.
        pairs: for each shard, a dictionary from the padded length to the number of pairs.
        tokens: for each shard, the number of its tokens on both sides.
        digest: SHA-256 digest of the content of `tokens.json` and thereby of all shards,
            hexadecimal.

    Raises:
        FileNotFoundError: if the folder has no `tokens.json`.
        ValueError: if `tokens.json` is damaged or of another format.
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        path = self.folder / DESCRIPTION
        if not path.exists():
            example = command_line("prepare-data", "pairs.tsv", folder, "--tokenize")
            raise FileNotFoundError(
                f"A folder of training data must have a {DESCRIPTION}, which is written by: "
                f"{example}. Received: {folder}"
            )
        content = read_json(path)
        if content.get("format") != _FORMAT:
            raise ValueError(
                f"{path} must have format {_FORMAT}: prepare the data with this version. "
                f"Received: format {excerpt(content.get('format'))}"
            )
        try:
            self.settings: dict[str, Any] = {x: content["settings"][x] for x in SETTINGS}
            self.dropped = {str(k): int(n) for k, n in content["dropped"].items()}
            shards = content["shards"]
            self._files = [(int(x["bytes"]), str(x["sha256"])) for x in shards]
            self.pairs = [{int(k): n for k, n in x["pairs"].items()} for x in shards]
            self.tokens = [x["tokens"] for x in shards]
            numbers = itertools.chain(*(x.items() for x in self.pairs), zip(self.tokens))
            for number in itertools.chain.from_iterable(numbers):
                check_integers(1, _MAX_SHARD, number=number)
            if not all(self.pairs) or not self.pairs:
                raise ValueError("there are no pairs")
            self._check_sizes()
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} is damaged: prepare the data again. Received: {excerpt(str(error))}"
            ) from None
        self.digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def _check_sizes(self):
        """Raises a ValueError if a shard is too small for its pairs, which would be counted."""
        for shard, (pairs, tokens) in enumerate(zip(self.pairs, self.tokens, strict=True)):
            path, numbers = self.folder / _file_name(shard), 2 * sum(pairs.values()) + tokens
            if path.exists() and path.stat().st_size < 2 * numbers:  # of two bytes at least
                raise ValueError(f"{path.name} is too small for {numbers:,} numbers")

    def __len__(self) -> int:
        return sum(sum(pairs.values()) for pairs in self.pairs)

    def read(self, shard: int) -> TokenBlock:
        """Reads a shard into memory.

        Args:
            shard: index of the shard.

        Raises:
            OSError: if the file cannot be read or is missing.
            ValueError: if the file has changed since it was written.
        """
        # Not memory-mapped: a batch has rows on nearly all pages, and a mapped file that vanishes
        # would end the process without a message.
        path, (size, digest) = self.folder / _file_name(shard), self._files[shard]
        try:
            check_regular(path, min(size, _MAX_SHARD))
            data = path.read_bytes()
        except FileNotFoundError:
            raise FileNotFoundError(
                f"A shard of {self.folder} is missing: restore it, or prepare the data again. "
                f"Received: no {path}"
            ) from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError(
                f"{path} has changed since it was written: restore it, or prepare the data again. "
                f"Received: another SHA-256 than in {DESCRIPTION}"
            )
        try:
            return _to_block(_to_array(data), self.pairs[shard])
        except Exception as error:  # NumPy's parser of headers raises many kinds
            raise ValueError(
                f"{path} does not match {DESCRIPTION}: prepare the data again. "
                f"Received: {excerpt(str(error))}"
            ) from None


def write_token_shards(
    folder: Path,
    blocks: Iterable[TokenBlock],
    settings: dict[str, Any],
    dropped: dict[str, int],
) -> None:
    """Writes the token ids of blocks of pairs, one shard each, to an existing folder.

    Args:
        folder: path of the folder, see `TokenShards`.
        blocks: iterable of the blocks, of which one at a time is in memory.
        settings: values of `SETTINGS`.
        dropped: dictionary from each reason to the number of pairs dropped for it.

    Raises:
        OSError: if a file cannot be written.
    """
    shards = []
    for number, block in enumerate(blocks):
        numbers = np.concatenate([block.lengths.ravel(), block.source, block.target])
        file = io.BytesIO()
        np.save(file, numbers.astype(_DTYPES[int(numbers.max() >= 1 << 16)]))
        data = file.getvalue()
        (folder / _file_name(number)).write_bytes(data)
        pairs = Counter(block.padded_lengths().tolist())
        shards.append(
            {
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
                "tokens": int(block.lengths.sum()),
                "pairs": dict(sorted(pairs.items())),
            }
        )
    content = {"format": _FORMAT, "version": __version__, "settings": settings}
    content |= {"dropped": dropped, "shards": shards}
    (folder / DESCRIPTION).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _file_name(shard):
    return f"{shard:05d}.npy"


def _to_array(data):
    """Returns the array in the bytes of a .npy file, without allocating what its header claims."""
    file = io.BytesIO(data)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.name not in _DTYPES:
        raise ValueError(f"numbers of type {dtype}")
    numbers = np.frombuffer(data, dtype, offset=file.tell())
    if shape != numbers.shape:
        raise ValueError(f"{numbers.size:,} numbers in the shape {shape}")
    return numbers


def _to_block(numbers, pairs):
    """Returns the `TokenBlock` in the array of a shard, whose pairs were counted by length."""
    lengths, ids = np.split(numbers, [2 * sum(pairs.values())])
    lengths = lengths.reshape(-1, 2).astype("int64")
    sources, targets = lengths.sum(axis=0)
    if sources + targets != len(ids) or (lengths < [1, 2]).any():
        raise ValueError(f"{len(ids):,} ids of {sources:,} + {targets:,}")
    block = TokenBlock(ids[:sources], ids[sources:], lengths)
    if (found := Counter(block.padded_lengths().tolist())) != pairs:
        raise ValueError(f"pairs of the lengths {dict(found)}")
    return block


class ShardedBuckets(keras.utils.PyDataset):
    """The batches of `TokenShards`, made with `LengthBuckets` shard by shard.

    The shards, and the pairs within each, are shuffled for every epoch. The order depends on `seed`
    and the epoch only, and batches are accessed by index, so that training can resume at any step.

    Args:
        shards: a `TokenShards`.
        batch_size: number of rows per batch; None if `batch_tokens` is given.
        source_vocab_size: size of the source vocabulary.
        target_vocab_size: size of the target vocabulary.
        seed: seed of the shuffling; None for no shuffling.
        batch_tokens: number of tokens per batch and side, see `BatchSize`.
        multiple: the number of batches of each shard is a multiple of this, see `BatchSize`.
    """

    def __init__(
        self,
        shards,
        batch_size,
        source_vocab_size,
        target_vocab_size,
        seed=None,
        batch_tokens=None,
        multiple=1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.shards = shards
        self.seed = seed
        self._vocab_sizes = (source_vocab_size, target_vocab_size)
        self._size_options = {"batch_tokens": batch_tokens, "multiple": multiple}
        self._batch_size = batch_size
        self._size = BatchSize(batch_size, batch_tokens, multiple)
        self._numbers = [sum(self._size.batches(pairs).values()) for pairs in shards.pairs]
        self.set_epoch(0)

    @property
    def shapes(self):
        """The sequence lengths of the batches."""
        return sorted(set().union(*self.shards.pairs))

    @property
    def padding_share(self):
        """The share of padding in all batches, including rows and batches of padding."""
        pairs_and_tokens = zip(self.shards.pairs, self.shards.tokens, strict=True)
        shares = [self._size.padding_share(*shard) for shard in pairs_and_tokens]
        return float(np.average(shares, weights=self._numbers))

    def set_epoch(self, epoch):
        """Starts an epoch, counted from 0; its order depends on `seed` and `epoch` only."""
        self.epoch = epoch
        self._order = np.arange(len(self._numbers))
        if self.seed is not None:
            np.random.default_rng((self.seed, epoch)).shuffle(self._order)
        self._ends = np.cumsum([self._numbers[shard] for shard in self._order])
        self._loaded = None, None

    def on_epoch_end(self):
        self.set_epoch(self.epoch + 1)

    def __len__(self):
        return int(self._ends[-1])

    def __getitem__(self, index):
        return self.read_part(index)[0]

    def read_part(self, index, part=0, parts=1, multiple=1):
        """Returns a part of the rows of a batch, see `LengthBuckets.read_part`."""
        if not 0 <= index < len(self):
            raise IndexError(f"The index must be in [0, {len(self)}). Received: {index}")
        position = int(np.searchsorted(self._ends, index, side="right"))
        if self._loaded[0] != position:
            self._loaded = position, self._read_shard(int(self._order[position]))
        batches = self._loaded[1]
        return batches.read_part(
            index - (int(self._ends[position]) - len(batches)), part, parts, multiple
        )

    def _read_shard(self, shard):
        seed = None if self.seed is None else self.seed + shard
        sizes = (self._batch_size, *self._vocab_sizes)
        batches = LengthBuckets(self.shards.read(shard), *sizes, seed, **self._size_options)
        batches.set_epoch(self.epoch)
        return batches
