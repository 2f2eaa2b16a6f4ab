"""Parts of words as ids, as BERT reads them."""

from typing import NamedTuple

import numpy as np
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from keras_transformer._utils.deprecation import renamed_method
from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.tokenizers import read_tokenizer_file

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_CONTINUES = "##"  # the mark of a part that does not begin a word


class Tokens(NamedTuple):
    """The tokens of a text.

    Attributes:
        ids: list of integers.
        offsets: list of (start, end) in characters of the text, one for each token.
    """

    ids: list
    offsets: list


class WordPieceTokenizer:
    """Splits texts into frequent words and parts of rarer ones.

    Its file is the JSON of Hugging Face `tokenizers`, as published BERTs have it.

    Args:
        tokenizer: the `tokenizers.Tokenizer` that does the work; made by `train` or `load`.

    Raises:
        ValueError: if it lacks a special token, or padding is not 0.

    References:
        "Google's Neural Machine Translation System" (Wu et al., 2016), section 4.1.
    """

    def __init__(self, tokenizer):
        found = [tokenizer.token_to_id(token) for token in SPECIAL_TOKENS]
        _check_special_ids(found)
        # Text like "[SEP]" that somebody types is text.
        tokenizer.encode_special_tokens = True
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        _, self.unknown_id, self.cls_id, self.sep_id, self.mask_id = found

    @classmethod
    def train(cls, texts, vocab_size=8000, lowercase=True, min_count=2):
        """Makes a vocabulary of the parts that occur together most often.

        Args:
            texts: the texts to learn from.
            vocab_size: number of tokens at most, the special ones included.
            lowercase: whether capitals and accents are dropped.
            min_count: parts that occur less often are not put together.

        Returns:
            A `WordPieceTokenizer`.

        Raises:
            ValueError: if there is no word.
        """
        tokenizer = _tokenizer(lowercase)
        normalize, split = tokenizer.normalizer, tokenizer.pre_tokenizer
        texts = [normalize.normalize_str(text) for text in texts]
        words = {word for text in texts for word, _ in split.pre_tokenize_str(text)}
        if not words:
            raise ValueError(f"There is no word in these texts. Received: {len(texts)} texts")
        # The trainer numbers the inner letters as chance has it, and breaks ties by numbers: named
        # beforehand, the same texts always give the same vocabulary.
        letters = sorted({_CONTINUES + letter for word in words for letter in word[1:]})
        trainer = trainers.WordPieceTrainer(
            vocab_size=vocab_size,
            min_frequency=min_count,
            special_tokens=[*SPECIAL_TOKENS, *letters],
            continuing_subword_prefix=_CONTINUES,
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(_tokenizer(lowercase, tokenizer.get_vocab()))

    @classmethod
    def load(cls, path):
        """Reads what `save` wrote, or the `tokenizer.json` of a published BERT.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the file is no tokenizer of this kind.
        """
        tokenizer = read_tokenizer_file(path)
        if not isinstance(tokenizer.model, models.WordPiece):
            kind = type(tokenizer.model).__name__
            raise ValueError(f"{path} must hold a WordPiece vocabulary. Received: {kind}")
        return cls(tokenizer)

    @classmethod
    def from_vocabulary(cls, tokens, lowercase=True):
        """The tokenizer of a vocabulary, such as the lines of a published `vocab.txt`.

        Args:
            tokens: the tokens in the order of their ids, special ones included.
            lowercase: whether capitals and accents are dropped.

        Raises:
            ValueError: if a special token is missing.
        """
        vocabulary = {token: i for i, token in enumerate(tokens)}
        found = [vocabulary.get(token) for token in SPECIAL_TOKENS]
        _check_special_ids(found)
        return cls(_tokenizer(lowercase, vocabulary))

    def save(self, path):
        """Writes a JSON file."""
        with atomic_replace(path) as temporary:
            temporary.write_text(self._tokenizer.to_str(pretty=True), encoding="utf-8")

    @property
    def vocab_size(self):
        """Number of ids, the special ones included."""
        return self._tokenizer.get_vocab_size()

    @property
    def special_ids(self):
        """The ids of padding, unknown words, [CLS], [SEP] and [MASK]."""
        return (PADDING_ID, self.unknown_id, self.cls_id, self.sep_id, self.mask_id)

    def continues(self):
        """Which tokens do not begin a word: boolean, (vocab_size,)."""
        tokens = map(self._tokenizer.id_to_token, range(self.vocab_size))
        return np.array([token.startswith(_CONTINUES) for token in tokens])

    def encode(self, text):
        """The `Tokens` of a text, without special ones."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return Tokens(encoding.ids, encoding.offsets)

    def tokens(self, ids):
        """The tokens of some ids as texts; ## stands before those that do not begin a word."""
        return [self._tokenizer.id_to_token(int(i)) for i in ids]

    def decode(self, ids):
        """The text of some ids, special ones left out; spaces are not quite where they were."""
        return self._tokenizer.decode([int(i) for i in ids if int(i) not in self.special_ids])

    def add_special_tokens(self, first, second=None, length=None):
        """One text or two as BERT reads them: `[CLS] text [SEP]`, `[CLS] text [SEP] text [SEP]`.

        Args:
            first, second: token ids, lists without special ones.
            length: the longest result; the end of the longer text is cut off. None for no limit.

        Returns:
            The ids, and the segment of each: 0 up to the first [SEP], then 1.
        """
        first, second = list(first), None if second is None else list(second)
        special = 2 if second is None else 3
        while length is not None and len(first) + len(second or ()) + special > length:
            longer = second if second is not None and len(second) > len(first) else first
            if not longer:
                raise ValueError(f"There is no room for a text. Received: length={length}")
            longer.pop()
        ids, end = [self.cls_id, *first, self.sep_id], [] if second is None else [self.sep_id]
        rest = [*(second or ()), *end]
        return ids + rest, [0] * len(ids) + [1] * len(rest)

    def encode_batch(self, first, second=None, length=128):
        """Texts, or pairs of texts, as arrays.

        Args:
            first, second: lists of texts; None if there is only one list.
            length: S. What is longer is cut, what is shorter padded.

        Returns:
            The ids and the segments, int32, (texts, S) each.
        """
        first = [self.encode(text).ids for text in first]
        second = [None] * len(first) if second is None else [self.encode(x).ids for x in second]
        joined = [
            self.add_special_tokens(*pair, length) for pair in zip(first, second, strict=True)
        ]
        return tuple(pad_ids([pair[i] for pair in joined], length) for i in (0, 1))

    of_vocabulary = classmethod(renamed_method("of_vocabulary", "from_vocabulary"))
    join = renamed_method("join", "add_special_tokens")
    arrays = renamed_method("arrays", "encode_batch")


def _check_special_ids(ids):
    if None in ids or ids[0] != PADDING_ID:
        raise ValueError(
            f"A vocabulary for BERT has {SPECIAL_TOKENS}, the first with the id {PADDING_ID}. "
            f"Received: the ids {ids}"
        )


def _tokenizer(lowercase, vocabulary=None):
    unknown = SPECIAL_TOKENS[1]
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix=_CONTINUES)
    if vocabulary is not None:
        tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return tokenizer
