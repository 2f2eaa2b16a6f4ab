"""From sentence pairs to training, validation and test parts."""

import collections
import dataclasses
import unicodedata

import numpy as np

from keras_transformer.checks import check_sizes
from keras_transformer.data.batches import LengthBuckets
from keras_transformer.data.tokenizers import WordTokenizer, encode_source, encode_target


@dataclasses.dataclass(frozen=True)
class PreparedDataset:
    """A corpus, split and with its vocabularies.

    Attributes:
        train: (source, target) sentences to learn from.
        validation: (source, target) sentences to watch.
        test: (source, references) to judge by: each source once, with all its translations.
        source_tokenizer: fitted on the sources of `train`.
        target_tokenizer: fitted on the targets of `train`.
        dropped: number of pairs left out, by reason.
    """

    train: list
    validation: list
    test: list
    source_tokenizer: WordTokenizer
    target_tokenizer: WordTokenizer
    dropped: dict

    def batches(self, pairs, batch_size, seed=None):
        """Batches of `train` or `validation`, a `LengthBuckets`; shuffled if there is a seed."""
        examples = [
            (encode_source(self.source_tokenizer, x), encode_target(self.target_tokenizer, y))
            for x, y in pairs
        ]
        sizes = (self.source_tokenizer.vocab_size, self.target_tokenizer.vocab_size)
        return LengthBuckets(examples, batch_size, *sizes, seed=seed)

    def __str__(self):
        lines = [
            f"{len(self.train):,} training pairs, {len(self.validation):,} validation pairs, "
            f"{len(self.test):,} test sentences",
            f"{self.source_tokenizer.vocab_size:,} source and "
            f"{self.target_tokenizer.vocab_size:,} target words",
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
        max_length: pairs with more tokens than this on either side are dropped.
        seed: of the split.

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
    ):
        if n_sentences is not None:
            check_sizes(n_sentences=n_sentences)
        check_sizes(min_count=min_count, max_length=max_length)
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

    def __call__(self, pairs):
        """Prepares.

        Args:
            pairs: list of (source, target) sentences.

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
        train, validation, test = self._split(kept, dropped)
        return PreparedDataset(
            train=_as_pairs(train),
            validation=_as_pairs(validation),
            test=test,
            source_tokenizer=self._tokenizer(source for source, _ in _as_pairs(train)),
            target_tokenizer=self._tokenizer(target for _, target in _as_pairs(train)),
            dropped=dropped,
        )

    def _tokenizer(self, sentences):
        return WordTokenizer.train(sentences, min_count=self.min_count)

    def _keep(self, pairs):
        """Groups the targets by source; counts what is left out."""
        count_tokens = WordTokenizer.count_tokens
        targets = collections.defaultdict(list)
        dropped = {"one side is empty": 0, "the same pair again": 0, self._too_long(): 0}
        for pair in pairs:
            # However it is typed, one sentence is one: it shall not be in two parts.
            source, target = (" ".join(unicodedata.normalize("NFC", x).split()) for x in pair)
            if not source or not target:
                dropped["one side is empty"] += 1
            elif target in targets[source]:
                dropped["the same pair again"] += 1
            elif max(count_tokens(source), count_tokens(target)) > self.max_length:
                dropped[self._too_long()] += 1
            else:
                targets[source].append(target)
        return [(source, found) for source, found in targets.items() if found], dropped

    def _too_long(self):
        return f"more than {self.max_length} tokens"

    def _split(self, groups, dropped):
        validation = round(len(groups) * self.validation_share)
        test = round(len(groups) * self.test_share)
        if min(validation, test, len(groups) - validation - test) < 1:
            raise ValueError(
                "There are too few different source sentences for a training, a validation and a "
                f"test part. Received: {len(groups)}; dropped: {dropped}"
            )
        order = np.random.default_rng(self.seed).permutation(len(groups))
        shuffled = [groups[i] for i in order]
        rest = len(groups) - validation - test
        return shuffled[:rest], shuffled[rest : rest + validation], shuffled[rest + validation :]


def _as_pairs(groups):
    return [(source, target) for source, targets in groups for target in targets]
