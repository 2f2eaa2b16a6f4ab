"""The WordPiece tokenizer of BERT."""

from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer._utils.types import PathLike
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.tokenizer_files import check_vocabulary
from keras_transformer.data.wordpiece_files import read_wordpiece

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_PREFIX = "##"  # of sub-words that continue a word


class Tokens(NamedTuple):
    """The tokens of a text.

    Attributes:
        ids: list of the token ids.
        offsets: list of (start, end) for each token, in characters of the text.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]


class WordPieceTokenizer:
    """Splits texts into words, and rare words into sub-words (WordPiece).

    The file format is the JSON of Hugging Face `tokenizers`, the `tokenizer.json` of published BERT
    models.

    Args:
        tokenizer: a `tokenizers.Tokenizer`. Use `train`, `load` or `from_vocabulary` to make one.

    Raises:
        ValueError: if a special token is missing, or the id of [PAD] is not 0.

    References:
        "Google's Neural Machine Translation System" (Wu et al., 2016), section 4.1.

    Example:
        >>> tokenizer = kt.WordPieceTokenizer.from_vocabulary(
        ...     ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "the", "piano"]
        ... )
        >>> ids, offsets = tokenizer.encode("Playing the piano")
        >>> ids
        [5, 6, 7, 8]
        >>> tokenizer.tokens(ids)
        ['play', '##ing', 'the', 'piano']
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        found = [tokenizer.token_to_id(token) for token in SPECIAL_TOKENS]
        _check_special_ids(found)
        # "[SEP]" in a text is text, not the special token.
        tokenizer.encode_special_tokens = True
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        _, self.unknown_id, self.cls_id, self.sep_id, self.mask_id = found

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int = 8000,
        lowercase: bool = True,
        min_count: int = 2,
    ) -> Self:
        """Trains a tokenizer: merges the sub-words that occur together most often.

        Args:
            texts: the training texts.
            vocab_size: maximum number of tokens, including the special tokens.
            lowercase: whether to lowercase texts and remove accents.
            min_count: minimum count of a pair of sub-words to be merged.

        Returns:
            A `WordPieceTokenizer`.

        Raises:
            ValueError: if the texts contain no word.
        """
        tokenizer = _make_tokenizer(lowercase)
        normalize, split = tokenizer.normalizer, tokenizer.pre_tokenizer
        texts = [normalize.normalize_str(text) for text in texts]
        words = {word for text in texts for word, _ in split.pre_tokenize_str(text)}
        if not words:
            raise ValueError(f"The texts contain no word: give more. Received: {len(texts)} texts")
        # The trainer gives "##" letters random ids and breaks ties by id. As special tokens they
        # have fixed ids, so that the same texts always give the same vocabulary.
        letters = sorted({_PREFIX + letter for word in words for letter in word[1:]})
        trainer = trainers.WordPieceTrainer(
            vocab_size=vocab_size,
            min_frequency=min_count,
            special_tokens=[*SPECIAL_TOKENS, *letters],
            continuing_subword_prefix=_PREFIX,
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(_make_tokenizer(lowercase, tokenizer.get_vocab()))

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Loads a tokenizer from a file written by `save`, or from a published `tokenizer.json`.

        The file may come from an untrusted source. These components are supported:

        - model: `WordPiece` with the unknown token "[UNK]", the prefix "##" and words of at most
          1,000 characters
        - normalizer: `BertNormalizer`
        - pre-tokenizer: `BertPreTokenizer`
        - decoder: `WordPiece` with the prefix "##"
        - post-processor: `BertProcessing`, `TemplateProcessing` or none. Like padding and
          truncation, it is ignored: `add_special_tokens` and `encode_batch` replace them.
        - added tokens: at most 1,000

        Args:
            path: path of the JSON file.

        Returns:
            A `WordPieceTokenizer`.

        Raises:
            FileNotFoundError: if the file does not exist.
            ValueError: if the file is not a WordPiece tokenizer, has another component, or its
                vocabulary is damaged: a special token is missing, or the ids are not 0, 1, 2 and so
                on.
        """
        return cls(read_wordpiece(path))

    @classmethod
    def from_vocabulary(cls, tokens: list[str], lowercase: bool = True) -> Self:
        """Builds a tokenizer from a vocabulary, such as the lines of a published `vocab.txt`.

        Args:
            tokens: the tokens in the order of their ids, including the special tokens.
            lowercase: whether to lowercase texts and remove accents.

        Returns:
            A `WordPieceTokenizer`.

        Raises:
            ValueError: if a special token is missing, the id of [PAD] is not 0, or a token occurs
                twice.
        """
        vocabulary = {token: i for i, token in enumerate(tokens)}
        check_vocabulary(vocabulary, "The vocabulary")
        found = [vocabulary.get(token) for token in SPECIAL_TOKENS]
        _check_special_ids(found)
        return cls(_make_tokenizer(lowercase, vocabulary))

    def save(self, path: PathLike) -> None:
        """Writes the tokenizer to a JSON file."""
        with atomic_replace(path) as temporary:
            temporary.write_text(self._tokenizer.to_str(pretty=True), encoding="utf-8")

    @property
    def vocab_size(self) -> int:
        """Number of tokens, including the special tokens."""
        return self._tokenizer.get_vocab_size()

    @property
    def special_ids(self) -> tuple[int, int, int, int, int]:
        """The ids of [PAD], [UNK], [CLS], [SEP] and [MASK]."""
        return (PADDING_ID, self.unknown_id, self.cls_id, self.sep_id, self.mask_id)

    def continues(self) -> np.ndarray:
        """Returns which tokens continue a word instead of beginning one, boolean (vocab_size,)."""
        tokens = map(self._tokenizer.id_to_token, range(self.vocab_size))
        return np.array([token.startswith(_PREFIX) for token in tokens])

    def encode(self, text: str) -> Tokens:
        """Returns the ids and character offsets of the tokens of a text, without special tokens."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return Tokens(encoding.ids, encoding.offsets)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Returns the tokens of ids; ## marks tokens that continue a word."""
        return [self._tokenizer.id_to_token(int(i)) for i in ids]

    def decode(self, ids: Iterable[int]) -> str:
        """Converts ids to a text without special tokens; its spaces may differ."""
        return self._tokenizer.decode([int(i) for i in ids if int(i) not in self.special_ids])

    def add_special_tokens(
        self, first: Iterable[int], second: Iterable[int] | None = None, length: int | None = None
    ) -> tuple[list[int], list[int]]:
        """Builds the input of BERT: `[CLS] first [SEP]` or `[CLS] first [SEP] second [SEP]`.

        Args:
            first: list of token ids without special tokens.
            second: list of token ids without special tokens, or None.
            length: maximum length of the result; the longer text is truncated. None for no limit.

        Returns:
            The list of ids, and the list of their segments: 0 up to the first [SEP], then 1.

        Raises:
            ValueError: if `length` is too small for the special tokens.

        Example:
            >>> tokenizer = kt.WordPieceTokenizer.train(["the cat sat"], min_count=1)
            >>> ids, segments = tokenizer.add_special_tokens([7, 8], [9])
            >>> ids, segments
            ([2, 7, 8, 3, 9, 3], [0, 0, 0, 0, 1, 1])
        """
        first, second = list(first), None if second is None else list(second)
        special = 2 if second is None else 3
        while length is not None and len(first) + len(second or ()) + special > length:
            longer = second if second is not None and len(second) > len(first) else first
            if not longer:
                raise ValueError(f"`length` is too small for a text. Received: length={length}")
            longer.pop()
        ids, end = [self.cls_id, *first, self.sep_id], [] if second is None else [self.sep_id]
        rest = [*(second or ()), *end]
        return ids + rest, [0] * len(ids) + [1] * len(rest)

    def encode_batch(
        self, first: list[str], second: list[str] | None = None, length: int = 128
    ) -> tuple[np.ndarray, np.ndarray]:
        """Encodes texts, or pairs of texts, as padded arrays with special tokens.

        Args:
            first: list of texts.
            second: list of the second texts of the pairs, or None.
            length: S; longer inputs are truncated, shorter ones padded.

        Returns:
            The ids and the segments, int32 (texts, S) each.

        Example:
            >>> tokenizer = kt.WordPieceTokenizer.train(["the cat sat"], min_count=1)
            >>> ids, segments = tokenizer.encode_batch(["the cat", "sat"], length=6)
            >>> tokenizer.tokens(ids[0])
            ['[CLS]', 'the', 'cat', '[SEP]', '[PAD]', '[PAD]']
        """
        seconds = [None] * len(first) if second is None else [self.encode(x).ids for x in second]
        joined = [
            self.add_special_tokens(self.encode(text).ids, ids, length)
            for text, ids in zip(first, seconds, strict=True)
        ]
        ids, segments = (pad_ids([pair[i] for pair in joined], length) for i in (0, 1))
        return ids, segments


def _check_special_ids(ids):
    if None in ids or ids[0] != PADDING_ID:
        raise ValueError(
            f"A vocabulary of BERT must have {SPECIAL_TOKENS}, the first with the id {PADDING_ID}. "
            f"Received: the ids {ids}"
        )


def _make_tokenizer(lowercase, vocabulary=None):
    unknown = SPECIAL_TOKENS[1]
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix=_PREFIX)
    if vocabulary is not None:
        tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return tokenizer
