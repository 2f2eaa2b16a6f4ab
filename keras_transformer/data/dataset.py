"""Preparation of data sets: filters, splits and tokenizes sentence pairs."""

import collections
import dataclasses
import functools
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn, Self

import keras
import numpy as np

from keras_transformer._utils.checks import check_choice, check_sizes, given
from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.types import PathLike
from keras_transformer._utils.writing import is_unsegmented
from keras_transformer.data.batches import LengthBuckets, TokenBlock
from keras_transformer.data.marian_tokenizer import AnyTokenizer, load_tokenizer
from keras_transformer.data.pair_file import PairFile
from keras_transformer.data.pairs import read_pairs
from keras_transformer.data.references import read_references, reference_lines
from keras_transformer.data.token_shards import (
    SETTINGS,
    ShardedBuckets,
    TokenShards,
    write_token_shards,
)
from keras_transformer.data.tokenizers import (
    SubwordTokenizer,
    WordTokenizer,
    encode_source,
    encode_target,
    unknown_share,
)

# The default size of the validation part and of the test part. More sentences than the largest size
# are worth more in the training part.
_SHARE, _LARGEST_PART = 0.1, 2000
_LONG_WORD = 20  # characters, which may become several subwords
# Shares of unknown words above which a remark is made: in the training part, where only rare words
# are unknown, and in the validation part, which may be in another language.
_UNKNOWN, _MANY_UNKNOWN = 0.02, 0.5

# Files in a folder of token ids.
_TOKENIZERS = ("source_tokenizer.json", "target_tokenizer.json")
_HELD_OUT_FILES = ("validation.tsv", "test.tsv")

# Reasons why pairs are dropped.
_EMPTY = "empty source or target"
_DUPLICATE = "duplicate pair"
_HELD_OUT = "source held out for validation or test"


@dataclasses.dataclass(frozen=True)
class PreparedDataset:
    """A training, a validation and a test set, with their tokenizers.

    Attributes:
        train: (source, target) sentences for training, a list; or their token ids in files, the
            `TokenShards` of a folder, see `load`.
        validation: list of (source, target) sentences for validation.
        test: list of (source, references) for the final evaluation; the references are all
            translations of the source.
        source_tokenizer: tokenizer of the source language, trained on `train`.
        target_tokenizer: tokenizer of the target language, trained on `train`.
        dropped: dictionary from each reason to the number of pairs dropped for it.
    """

    train: list[tuple[str, str]] | TokenShards
    validation: list[tuple[str, str]]
    test: list[tuple[str, list[str]]]
    source_tokenizer: AnyTokenizer
    target_tokenizer: AnyTokenizer
    dropped: dict[str, int]

    @classmethod
    def load(cls, folder: PathLike) -> Self:
        """Loads the data set in a folder of token ids, whose training part stays in its files.

        Args:
            folder: path of a folder that `PrepareDataset.write_tokens` has written.

        Raises:
            FileNotFoundError: if the folder or a file in it is missing.
            ValueError: if a file is damaged.
        """
        train, folder = TokenShards(folder), Path(folder)
        source, target = (load_tokenizer(folder / name) for name in _TOKENIZERS)
        _check_subwords((source, target))
        files = [folder / name for name in _HELD_OUT_FILES]
        validation, test = (read_references(file, header=False) for file in files)
        return cls(train, _ungroup(validation), test, source, target, train.dropped)

    def __iter__(self) -> NoReturn:
        fields = ", ".join(f"`{field.name}`" for field in dataclasses.fields(self))
        raise TypeError(
            f"A PreparedDataset is not a tuple: read its attributes {fields}; `batches` returns "
            "arrays of ids. Received: an iteration over it"
        )

    def batches(
        self,
        pairs: list[tuple[str, str]] | TokenShards,
        batch_size: int | None = None,
        seed: int | None = None,
        batch_tokens: int | None = None,
        multiple: int = 1,
        bpe_dropout: float = 0.0,
    ) -> keras.utils.PyDataset:
        """Returns sentence pairs as padded batches of ids.

        Args:
            pairs: `train` or `validation`.
            batch_size: number of rows per batch; None if `batch_tokens` is given.
            seed: seed of the shuffling; None for no shuffling.
            batch_tokens: number of tokens per batch and side, including padding; None if
                `batch_size` is given.
            multiple: batches of padding are added until the number of batches is a multiple of
                this, which gradient accumulation over so many batches needs.
            bpe_dropout: probability of skipping a merge (BPE-dropout). Above 0, the pairs are
                tokenized again for every epoch.

        Returns:
            A `keras.utils.PyDataset` of `((source, target[:, :-1]), target[:, 1:])`, int32 ids
            (B, T) each, with few different lengths T. `TokenShards` are read shard by shard.

        Raises:
            ValueError: if an argument is out of range, or `bpe_dropout` is given for token ids or
                without sub-words.

        Example:
            >>> pairs = [(f"word {i}", f"Wort {i}") for i in range(10)]
            >>> dataset = kt.PrepareDataset()(pairs)
            >>> (source, target_input), target = dataset.batches(dataset.train, batch_size=8)[0]
            >>> source.shape, target_input.shape, target.shape
            ((8, 4), (8, 4), (8, 4))
        """
        sizes = (self.source_tokenizer.vocab_size, self.target_tokenizer.vocab_size)
        if isinstance(pairs, TokenShards):
            if bpe_dropout:
                raise ValueError(
                    "Pairs in a folder are tokenized already, without BPE-dropout: set "
                    f"`bpe_dropout` to 0. Received: bpe_dropout={bpe_dropout}"
                )
            return ShardedBuckets(pairs, batch_size, *sizes, seed, batch_tokens, multiple)
        tokenizers = [
            _with_dropout(tokenizer, bpe_dropout) if bpe_dropout else tokenizer
            for tokenizer in (self.source_tokenizer, self.target_tokenizer)
        ]
        examples = functools.partial(_encode, pairs, *tokenizers)
        examples = examples if bpe_dropout else examples()
        return LengthBuckets(examples, batch_size, *sizes, seed, batch_tokens, multiple)

    def __str__(self):
        return "\n".join([self.sizes.replace("; ", "\n"), *self.remarks])

    @property
    def sizes(self) -> str:
        """The numbers of pairs and of tokens, in one line."""
        words = isinstance(self.source_tokenizer, WordTokenizer)
        return (
            f"{len(self.train):,} training pairs, {len(self.validation):,} validation pairs, "
            f"{len(self.test):,} test sentences; {self.source_tokenizer.vocab_size:,} source and "
            f"{self.target_tokenizer.vocab_size:,} target {'tokens' if words else 'subwords (BPE)'}"
        )

    @property
    def remarks(self) -> list[str]:
        """Remarks on dropped pairs and unknown words, one line each."""
        lines = [f"dropped {n:,} pairs: {reason}" for reason, n in self.dropped.items() if n]
        unknown = unknown_share(self.source_tokenizer, [x for x, _ in self.validation[:1000]])
        if unknown > _MANY_UNKNOWN:
            lines.append(
                f"Warning: {unknown:.0%} of the words of the validation sources are unknown, so "
                "the model cannot learn to translate them. Are they in the language and the "
                "spelling of the training part? With many rare words, use tokenizer=bpe."
            )
        if isinstance(self.source_tokenizer, WordTokenizer):
            lines += self._unknown_training_words()
        return lines

    def _unknown_training_words(self):
        sample = self.train[:: max(1, len(self.train) // 1000)]
        tokenizers = {"source": self.source_tokenizer, "target": self.target_tokenizer}
        shares = {
            name: unknown_share(tokenizer, [pair[i] for pair in sample])
            for i, (name, tokenizer) in enumerate(tokenizers.items())
        }
        return [
            f"{share:.0%} of the {name} words of the training part are unknown, and the model "
            "learns nothing about them: lower min_count, or use tokenizer=bpe."
            for name, share in shares.items()
            if share > _UNKNOWN
        ]


def _check_subwords(tokenizers):
    if any(isinstance(tokenizer, WordTokenizer) for tokenizer in tokenizers):
        raise ValueError(
            "Token ids in files need sub-words: adapt a run with tokenizer=bpe. Received: a "
            "WordTokenizer"
        )


def _encode(pairs, source_tokenizer, target_tokenizer):
    """Returns the ids of pairs, a list of (source ids, target ids)."""
    return [
        (encode_source(source_tokenizer, source), encode_target(target_tokenizer, target))
        for source, target in pairs
    ]


def _with_dropout(tokenizer: AnyTokenizer, rate: float) -> AnyTokenizer:
    if not isinstance(tokenizer, SubwordTokenizer):
        raise ValueError(
            "BPE-dropout needs sub-words: prepare the data with tokenizer=bpe, or set "
            f"`bpe_dropout` to 0. Received: bpe_dropout={rate}"
        )
    return tokenizer.with_dropout(rate)


class PrepareDataset:
    """Filters and splits sentence pairs and trains their tokenizers.

    An instance is called with a list of pairs and returns a `PreparedDataset`. The split is by
    source sentence: all translations of a sentence are in the same part, so that no test sentence
    occurs in training. In the test part they are the references of their source.

    Args:
        n_sentences: number of pairs to use, from the first on; None for all.
        validation_share: share of the source sentences in the validation part; None for a tenth,
            but at most 2,000 sentences.
        test_share: share of the source sentences in the test part, likewise.
        min_count: minimum count of a word in the training part; rarer words are unknown.
        max_length: maximum number of words and punctuation marks; pairs with more on either side
            are dropped. A word of 20 characters or more counts as several; without spaces between
            words, each character counts.
        seed: seed of the split.
        tokenizer: "words", "bpe" for sub-words, or "auto": "bpe" for a shared vocabulary, token
            ids in files and languages written without spaces between words, "words" for others.
        vocab_size: maximum size of a BPE vocabulary.
        share_vocabulary: whether both languages share one BPE vocabulary.

    Raises:
        ValueError: if an argument is out of range.

    Example:
        >>> pairs = [(f"word {i}", f"Wort {i}") for i in range(10)]
        >>> print(kt.PrepareDataset(validation_share=0.2)(pairs))
        7 training pairs, 2 validation pairs, 1 test sentences
        12 source and 12 target tokens
    """

    def __init__(
        self,
        n_sentences: int | None = None,
        validation_share: float | None = None,
        test_share: float | None = None,
        min_count: int = 1,
        max_length: int = 128,
        seed: int = 0,
        tokenizer: str = "auto",
        vocab_size: int = 8000,
        share_vocabulary: bool = False,
    ) -> None:
        check_sizes(min_count=min_count, max_length=max_length, vocab_size=vocab_size)
        check_sizes(**given(n_sentences=n_sentences))
        check_choice(("auto", "words", "bpe"), tokenizer=tokenizer)
        shares = [_SHARE if x is None else x for x in (validation_share, test_share)]
        if not (min(shares) > 0 and sum(shares) < 1):
            raise ValueError(
                "`validation_share` and `test_share` must be positive, and their sum less than 1. "
                f"Received: validation_share={validation_share}, test_share={test_share}"
            )
        self.n_sentences = n_sentences
        self.validation_share = validation_share
        self.test_share = test_share
        self.min_count = min_count
        self.max_length = max_length
        self.seed = seed
        self.tokenizer = tokenizer
        self.vocab_size = vocab_size
        self.share_vocabulary = share_vocabulary

    def __call__(
        self,
        pairs: list[tuple[str, str]],
        validation: list[tuple[str, str]] | None = None,
        test: list[tuple[str, str]] | None = None,
        tokenizers: tuple[AnyTokenizer, AnyTokenizer] | None = None,
        mixed: Iterable[tuple[str, str]] = (),
    ) -> PreparedDataset:
        """Prepares a data set from sentence pairs.

        Args:
            pairs: list of (source, target) sentences, or the path of a file, see `read_pairs`.
            validation: list of pairs for validation, or None to split off a share of `pairs`.
            test: list of pairs for the final evaluation, which keep their order, or None to split
                off a share of `pairs`. Pairs whose source is in `validation` or `test` are removed
                from the training part.
            tokenizers: the source and the target tokenizer; None to train them.
            mixed: further pairs for the training part only, from other data.

        Returns:
            A `PreparedDataset`.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if there are fewer than `n_sentences` pairs, or too few to split.
        """
        if isinstance(pairs, (str, os.PathLike)):
            pairs = read_pairs(pairs)
        if self.n_sentences is not None and self.n_sentences > len(pairs):
            raise ValueError(
                f"`n_sentences` must be at most the number of pairs: there are only {len(pairs):,} "
                f"pairs. Received: n_sentences={self.n_sentences}"
            )
        kept, dropped = self._group_by_source(pairs[: self.n_sentences])
        kept = _remove_held_out(kept, [*(validation or ()), *(test or ())], dropped)
        validation, test = (
            part if part is None else _complete_pairs(part, dropped) for part in (validation, test)
        )
        parts = ((self.validation_share, validation), (self.test_share, test))
        sizes = [_size_of_part(len(kept), share) if part is None else None for share, part in parts]
        train, validation_groups, test_groups = self._split(kept, sizes, dropped)
        train = _ungroup(train)
        if mixed:
            held_out = [*_ungroup(validation_groups), *_ungroup(test_groups)]
            held_out += [*(validation or ()), *(test or ())]
            train += _ungroup(_remove_held_out(self._group_by_source(mixed)[0], held_out, {}))
        sources = [source for source, _ in train]
        targets = [target for _, target in train]
        source_tokenizer, target_tokenizer = tokenizers or self._tokenizers(sources, targets)
        return PreparedDataset(
            train=train,
            validation=_ungroup(validation_groups) if validation is None else validation,
            test=test_groups if test is None else _with_references(test),
            source_tokenizer=source_tokenizer,
            target_tokenizer=target_tokenizer,
            dropped=dropped,
        )

    def write_tokens(
        self,
        path: PathLike,
        folder: PathLike,
        validation: list[tuple[str, str]],
        test: list[tuple[str, str]],
        tokenizers: tuple[AnyTokenizer, AnyTokenizer] | None = None,
        data_limits: float = 1.0,
    ) -> PreparedDataset:
        """Writes the token ids of a file of pairs to a folder, for training without reading text.

        Use it for files that do not fit into memory. Duplicate pairs are kept. The tokenizer is
        "bpe", because a vocabulary of all words would be too large.

        Args:
            path: path of a file of tab-separated text, `.tsv` or `.txt`, one pair per line.
            folder: path of the folder to write, which `PreparedDataset.load` loads. It appears when
                it is complete.
            validation: list of (source, target) sentences for validation.
            test: list of (source, target) sentences for the final evaluation. Pairs whose source is
                in `validation` or `test` are dropped from the training part.
            tokenizers: the source and the target tokenizer, such as those of a run to adapt; None
                to train them.
            data_limits: factor of the maximum length of a line, see `PairFile`.

        Returns:
            The `PreparedDataset` in the folder.

        Raises:
            FileExistsError: if the folder exists already.
            FileNotFoundError: if the file does not exist.
            OSError: if the folder cannot be written.
            ValueError: if the file is not `.tsv` or `.txt`, is not tab-separated text or has no
                pair to train on, or the tokenizers are of words.
        """
        folder = Path(folder)
        if folder.exists():
            raise FileExistsError(f"The folder already exists: choose another. Received: {folder}")
        check_choice(("auto", "bpe"), tokenizer=self.tokenizer)
        held_out = {normalize_sentence(source) for source, _ in [*validation, *test]}

        def rejection_reason(source, target):
            if normalize_sentence(source) in held_out:
                return _HELD_OUT
            return self._rejection_reason(source, target)

        _check_subwords(tokenizers or ())
        file = PairFile(path, rejection_reason, data_limits=data_limits)
        source, target = tokenizers or self._subword_tokenizers(
            file.sentences(0), file.sentences(1), file.sentences(0, 1)
        )
        dropped = dict(file.dropped)
        parts = [_with_references(_complete_pairs(x, dropped)) for x in (validation, test)]
        settings = {name: getattr(self, name) for name in SETTINGS} | {"tokenizer": "bpe"}
        blocks = (
            TokenBlock.from_examples(_encode(block, source, target)) for block in file.blocks()
        )
        with atomic_replace(folder) as temporary:
            temporary.mkdir()
            for name, tokenizer in zip(_TOKENIZERS, (source, target), strict=True):
                tokenizer.save(temporary / name)
            for name, part in zip(_HELD_OUT_FILES, parts, strict=True):
                (temporary / name).write_text(reference_lines(part), encoding="utf-8")
            write_token_shards(temporary, blocks, settings, dropped)
        return PreparedDataset.load(folder)

    def _tokenizers(self, sources, targets):
        if self.tokenizer == "bpe" or (
            self.tokenizer == "auto"
            and (self.share_vocabulary or is_unsegmented(sources) or is_unsegmented(targets))
        ):
            return self._subword_tokenizers(sources, targets, sources + targets)
        return [WordTokenizer.train(x, min_count=self.min_count) for x in (sources, targets)]

    def _subword_tokenizers(self, sources, targets, both):
        if self.share_vocabulary:
            return [SubwordTokenizer.train(both, self.vocab_size)] * 2
        return [SubwordTokenizer.train(x, self.vocab_size) for x in (sources, targets)]

    def _group_by_source(self, pairs):
        """Returns (source, targets) of the accepted pairs, and the drop counts by reason."""
        targets = collections.defaultdict(list)
        dropped = {_EMPTY: 0, _DUPLICATE: 0, self._too_long(): 0, _HELD_OUT: 0}
        for pair in pairs:
            source, target = map(normalize_sentence, pair)
            duplicate = target in targets[source]
            reason = _DUPLICATE if duplicate else self._rejection_reason(source, target)
            if reason:
                dropped[reason] += 1
            else:
                targets[source].append(target)
        return [(source, found) for source, found in targets.items() if found], dropped

    def _rejection_reason(self, source, target):
        """Returns why a pair is dropped, or None if it is accepted."""
        if not source or not target:
            return _EMPTY
        too_long = any(
            len(x) > self.max_length and _estimate_tokens(x) > self.max_length
            for x in (source, target)
        )
        return self._too_long() if too_long else None

    def _too_long(self):
        return f"more than {self.max_length} tokens"

    def _split(self, groups, sizes, dropped):
        """Splits off a validation and a test part of these sizes; None for a part that is given."""
        n_validation, n_test = (size or 0 for size in sizes)
        n_train = len(groups) - n_validation - n_test
        if n_train < 1 or 0 in sizes:
            raise ValueError(
                "There are too few different source sentences for a training, a validation and a "
                f"test part: give more pairs. Received: {len(groups)}; dropped: {dropped}"
            )
        order = np.random.default_rng(self.seed).permutation(len(groups))
        shuffled = [groups[i] for i in order]
        test_start = n_train + n_validation
        return shuffled[:n_train], shuffled[n_train:test_start], shuffled[test_start:]


def _estimate_tokens(sentence):
    """Estimates the number of tokens before there is a tokenizer."""
    if is_unsegmented([sentence]):
        return len(sentence)
    long_words = sum(len(word) // _LONG_WORD for word in sentence.split())
    return WordTokenizer.count_tokens(sentence) + long_words


def _size_of_part(n_sentences, share):
    if share is None:
        return min(round(n_sentences * _SHARE), _LARGEST_PART)
    return round(n_sentences * share)


def _remove_held_out(groups, held_out, dropped):
    """Returns the groups whose source is not held out, and counts the removed pairs."""
    held_out = {normalize_sentence(source) for source, _ in held_out}
    kept = [group for group in groups if group[0] not in held_out]
    dropped[_HELD_OUT] = len(_ungroup(groups)) - len(_ungroup(kept))
    return kept


def _complete_pairs(pairs, dropped):
    """Normalizes given pairs, removes those with an empty side, and counts these."""
    pairs = [tuple(map(normalize_sentence, pair)) for pair in pairs]
    complete = [pair for pair in pairs if all(pair)]
    if removed := len(pairs) - len(complete):
        dropped[_EMPTY] = dropped.get(_EMPTY, 0) + removed
    return complete


def _with_references(pairs):
    return [(source, [target]) for source, target in pairs]


def normalize_sentence(sentence):
    """Normalizes Unicode and spaces, so that one sentence never lands in two splits."""
    return " ".join(unicodedata.normalize("NFC", sentence).split())


def _ungroup(groups):
    return [(source, target) for source, targets in groups for target in targets]
