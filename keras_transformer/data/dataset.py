"""From sentence pairs to training, validation and test parts."""

import collections
import dataclasses
import unicodedata

import numpy as np

from keras_transformer._utils.checks import check_choice, check_sizes, given
from keras_transformer.data.batches import LengthBuckets
from keras_transformer.data.streaming import PairFile, StreamedBuckets
from keras_transformer.data.tokenizers import (
    SubwordTokenizer,
    Tokenizer,
    WordTokenizer,
    encode_source,
    encode_target,
)

# Why pairs are left out.
_EMPTY = "one side is empty"
_AGAIN = "the same pair again"
_HELD_OUT = "the source is held out for validation or test"


@dataclasses.dataclass(frozen=True)
class PreparedDataset:
    """A corpus, split and with its vocabularies.

    Attributes:
        train: (source, target) sentences to learn from; a list, or a `PairFile`.
        validation: (source, target) sentences to watch.
        test: (source, references) to judge by: each source with all its translations.
        source_tokenizer: fitted on the sources of `train`.
        target_tokenizer: fitted on the targets of `train`.
        dropped: number of pairs left out, by reason.
    """

    train: list | PairFile
    validation: list
    test: list
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    dropped: dict

    def batches(
        self, pairs, batch_size=None, seed=None, batch_tokens=None, multiple=1, bpe_dropout=0.0
    ):
        """Batches of sentence pairs.

        Args:
            pairs: `train` or `validation`.
            batch_size: number of rows in a batch; None if `batch_tokens` says how large it is.
            seed, batch_tokens, multiple: see `LengthBuckets`.
            bpe_dropout: the chance to leave out a merge; above 0 the pairs are taken apart anew for
                each epoch.

        Returns:
            A `LengthBuckets`, or `StreamedBuckets` of pairs that stay in their file.

        Raises:
            ValueError: if an argument is out of range, or pairs in a file are to be taken apart
                anew.
        """
        if isinstance(pairs, PairFile):
            if bpe_dropout:
                raise ValueError(
                    "Pairs that stay in their file are always taken apart the same. "
                    f"Received: bpe_dropout={bpe_dropout}"
                )
            return StreamedBuckets(
                pairs,
                lambda block, seed: self.batches(block, batch_size, seed, batch_tokens, multiple),
                seed,
            )
        source, target = (
            tokenizer.with_dropout(bpe_dropout) if bpe_dropout else tokenizer
            for tokenizer in (self.source_tokenizer, self.target_tokenizer)
        )

        def examples():
            return [(encode_source(source, x), encode_target(target, y)) for x, y in pairs]

        sizes = (source.vocab_size, target.vocab_size)
        examples = examples if bpe_dropout else examples()
        return LengthBuckets(examples, batch_size, *sizes, seed, batch_tokens, multiple)

    def __str__(self):
        lines = [
            f"{len(self.train):,} training pairs, {len(self.validation):,} validation pairs, "
            f"{len(self.test):,} test sentences",
            f"{self.source_tokenizer.vocab_size:,} source and "
            f"{self.target_tokenizer.vocab_size:,} target tokens",
        ]
        lines += [f"dropped {n:,} pairs: {why}" for why, n in self.dropped.items() if n]
        return "\n".join(lines)


class PrepareDataset:
    """Chooses, splits and counts: called on sentence pairs, returns a `PreparedDataset`.

    The split is by source sentence. All translations of one sentence are in the same part, so that
    nothing is tested that was trained, and are the references of one another.

    Args:
        n_sentences: number of pairs to take, from the first; None for all.
        validation_share: share of the source sentences in the validation part.
        test_share: share of the source sentences in the test part.
        min_count: words that occur less often in the training part become unknown.
        max_length: pairs with more words and signs than this on either side are dropped.
        seed: of the split.
        tokenizer: "words", or "bpe" for pieces of words.
        vocab_size: number of ids of a BPE vocabulary.
        share_vocabulary: whether both languages have one BPE vocabulary.

    Raises:
        ValueError: if an argument is out of range.
    """

    def __init__(
        self,
        n_sentences=None,
        validation_share=0.1,
        test_share=0.1,
        min_count=1,
        max_length=128,
        seed=0,
        tokenizer="words",
        vocab_size=8000,
        share_vocabulary=False,
    ):
        check_sizes(min_count=min_count, max_length=max_length, vocab_size=vocab_size)
        check_sizes(**given(n_sentences=n_sentences))
        check_choice(("words", "bpe"), tokenizer=tokenizer)
        if not (validation_share > 0 and test_share > 0 and validation_share + test_share < 1):
            raise ValueError(
                "The shares must be positive and leave something for training. "
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

    def __call__(self, pairs, validation=None, test=None):
        """Prepares.

        Args:
            pairs: list of (source, target) sentences.
            validation: such a list to watch, or None: a share of `pairs` is split off.
            test: such a list to judge by, in the order in which it shall be translated, or None
                likewise. No source of these two stays in the training part.

        Returns:
            A `PreparedDataset`.

        Raises:
            ValueError: if there are fewer pairs than wanted, or too few to split.
        """
        if self.n_sentences is not None and self.n_sentences > len(pairs):
            raise ValueError(
                f"There are only {len(pairs):,} pairs: ask for at most as many. "
                f"Received: n_sentences={self.n_sentences}"
            )
        kept, dropped = self._keep(pairs[: self.n_sentences])
        kept = _without(kept, [*(validation or ()), *(test or ())], dropped)
        validation_share = self.validation_share if validation is None else 0.0
        test_share = self.test_share if test is None else 0.0
        train, validation_groups, test_groups = self._split(
            kept, (validation_share, test_share), dropped
        )
        train = _as_pairs(train)
        sources = [source for source, _ in train]
        targets = [target for _, target in train]
        source_tokenizer, target_tokenizer = self._tokenizers(sources, targets, sources + targets)
        validation = _as_pairs(validation_groups) if validation is None else _stripped(validation)
        return PreparedDataset(
            train=train,
            validation=validation,
            test=test_groups if test is None else _with_references(test),
            source_tokenizer=source_tokenizer,
            target_tokenizer=target_tokenizer,
            dropped=dropped,
        )

    def stream(self, path, validation, test, tokenizers=None):
        """Prepares pairs that stay in their file, because they do not fit into the memory.

        Pairs that occur twice are kept. The vocabularies must be those of BPE: the words of so much
        text would be too many.

        Args:
            path: a file of tab-separated text, see `PairFile`.
            validation: list of pairs to watch.
            test: list of pairs to judge by.
            tokenizers: those of source and target, if they were trained on this file before: None
                to train them.

        Returns:
            A `PreparedDataset` whose training part is a `PairFile`.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the file is no such text, or the tokenizer that of words.
        """
        if self.tokenizer != "bpe":
            raise ValueError(f"Streaming needs tokenizer=bpe. Received: tokenizer={self.tokenizer}")
        held_out = {_normal(source) for source, _ in [*validation, *test]}

        def why_not(source, target):
            return _HELD_OUT if _normal(source) in held_out else self._why_not(source, target)

        train = PairFile(path, why_not)
        if tokenizers is None:
            source, target = 0, 1
            tokenizers = self._tokenizers(
                train.sentences(source), train.sentences(target), train.sentences(source, target)
            )
        return PreparedDataset(
            train, _stripped(validation), _with_references(test), *tokenizers, train.dropped
        )

    def _tokenizers(self, sources, targets, both):
        if self.tokenizer == "words":
            return [WordTokenizer.train(x, min_count=self.min_count) for x in (sources, targets)]
        if self.share_vocabulary:
            return [SubwordTokenizer.train(both, self.vocab_size)] * 2
        return [SubwordTokenizer.train(x, self.vocab_size) for x in (sources, targets)]

    def _keep(self, pairs):
        """Groups the targets by source; counts what is left out."""
        targets = collections.defaultdict(list)
        dropped = {_EMPTY: 0, _AGAIN: 0, self._too_long(): 0, _HELD_OUT: 0}
        for pair in pairs:
            source, target = map(_normal, pair)
            reason = _AGAIN if target in targets[source] else self._why_not(source, target)
            if reason:
                dropped[reason] += 1
            else:
                targets[source].append(target)
        return [(source, found) for source, found in targets.items() if found], dropped

    def _why_not(self, source, target):
        """Why a pair is left out, or None."""
        if not source or not target:
            return _EMPTY
        longest = max(WordTokenizer.count_tokens(source), WordTokenizer.count_tokens(target))
        return self._too_long() if longest > self.max_length else None

    def _too_long(self):
        return f"more than {self.max_length} tokens"

    def _split(self, groups, shares, dropped):
        sizes = [round(len(groups) * share) for share in shares]
        rest = len(groups) - sum(sizes)
        if rest < 1 or any(share and not size for share, size in zip(shares, sizes, strict=True)):
            raise ValueError(
                "There are too few different source sentences for a training, a validation and a "
                f"test part. Received: {len(groups)}; dropped: {dropped}"
            )
        order = np.random.default_rng(self.seed).permutation(len(groups))
        shuffled = [groups[i] for i in order]
        validation = rest + sizes[0]
        return shuffled[:rest], shuffled[rest:validation], shuffled[validation:]


def _without(groups, held_out, dropped):
    """The groups whose source is not held out."""
    held_out = {_normal(source) for source, _ in held_out}
    kept = [group for group in groups if group[0] not in held_out]
    dropped[_HELD_OUT] = len(_as_pairs(groups)) - len(_as_pairs(kept))
    return kept


def _stripped(pairs):
    return [(_normal(source), _normal(target)) for source, target in pairs]


def _with_references(pairs):
    return [(source, [target]) for source, target in _stripped(pairs)]


def _normal(sentence):
    """However it is typed, one sentence is one: it shall not be in two parts."""
    return " ".join(unicodedata.normalize("NFC", sentence).split())


def _as_pairs(groups):
    return [(source, target) for source, targets in groups for target in targets]
