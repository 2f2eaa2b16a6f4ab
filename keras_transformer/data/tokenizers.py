"""Sentences as ids, and back without loss."""

import collections
import os
import re

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from keras_transformer._utils.checks import check_rate
from keras_transformer._utils.deprecation import renamed_method
from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.special_tokens import END_ID, SPECIAL_TOKENS, START_ID, UNKNOWN_ID

# A word keeps the mark of the space before it (and its inner apostrophes), a punctuation mark is a
# token of its own: so the text can be put together again as it was.
_SPACE = "▁"
_UNKNOWN = SPECIAL_TOKENS[UNKNOWN_ID]
_TOKEN = Regex(rf"{_SPACE}?\w+(?:['’]\w+)*|{_SPACE}?[^\w\s{_SPACE}]")
_PRE_TOKENIZER = pre_tokenizers.Sequence(
    [pre_tokenizers.Metaspace(_SPACE), pre_tokenizers.Split(_TOKEN, "isolated")]
)

# What the vocabulary drops is no part of a token, except for letters in a word, and accents.
_ACCENTS = r"[\u0300-\u036f]*"
_LETTERS = r"[\w\u0300-\u036f]*"
_WORD = re.compile(r"\w\S*\Z")
_SIGN = re.compile(rf"[^\w\u0300-\u036f]{_ACCENTS}\Z")
_BEFORE_WORD, _AFTER_WORD = re.compile(rf"{_LETTERS}\Z"), re.compile(_LETTERS)
_AFTER_SIGN = re.compile(_ACCENTS)


class Tokenizer:
    """Takes sentences apart into tokens, and joins them again.

    What it takes apart it puts together again: `decode(encode(s)) == normalize(s)` for every
    sentence that holds nothing unknown. Its file is the JSON of Hugging Face `tokenizers`.

    Args:
        tokenizer: the `tokenizers.Tokenizer` that does the work; made by `train` of a subclass, or
            by `load`.
    """

    def __init__(self, tokenizer):
        # Text like "[END]" that somebody types is text.
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer

    @staticmethod
    def load(path):
        """Reads what `save` wrote.

        Returns:
            A `WordTokenizer` or a `SubwordTokenizer`, as the file says.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the file is no tokenizer of these kinds.
        """
        tokenizer = read_tokenizer_file(path)
        kind = _KINDS.get(type(tokenizer.model))
        if kind is None:
            raise ValueError(f"{path} must hold words or BPE subwords. Received: {tokenizer.model}")
        found = tuple(tokenizer.id_to_token(i) for i in range(len(SPECIAL_TOKENS)))
        parts = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder)
        if any(part is None for part in parts):
            raise ValueError(f"{path} lacks the rules for splitting and joining. Received: {path}")
        if found != SPECIAL_TOKENS:
            raise ValueError(
                f"The vocabulary of {path} must begin with {SPECIAL_TOKENS}. Received: {found}"
            )
        return kind(tokenizer)

    def save(self, path):
        """Writes a JSON file."""
        with atomic_replace(path) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8")

    def to_json(self):
        """The vocabulary and the rules as the text of the file."""
        return self._tokenizer.to_str(pretty=True)

    @property
    def vocab_size(self):
        """Number of ids, the special ones included."""
        return self._tokenizer.get_vocab_size()

    def normalize(self, sentence):
        """The sentence as the vocabulary writes it."""
        return self._tokenizer.normalizer.normalize_str(sentence)

    def tokenize(self, sentence):
        """The tokens of a sentence; ▁ stands for the space before a word."""
        return self._tokenizer.encode(sentence).tokens

    def encode(self, sentence):
        """The ids of a sentence, without start or end; unknown words are `UNKNOWN_ID`."""
        return self._tokenizer.encode(sentence).ids

    def words(self, sentence):
        """The text of each token of a sentence, known or not, as it stands there; ▁ stands for the
        space before a word."""
        normal, sentence = self.normalize(sentence), sentence.replace(_SPACE, "_")
        tokens = [token for token, _ in self._tokenizer.pre_tokenizer.pre_tokenize_str(normal)]
        offsets = self._tokenizer.encode(sentence).offsets
        next_starts = [*(start for start, _ in offsets[1:]), len(sentence)]
        words, last = [], 0
        for token, (start, end), limit in zip(tokens, offsets, next_starts, strict=False):
            kind, after = (_WORD, _AFTER_WORD) if _WORD.search(token) else (_SIGN, _AFTER_SIGN)
            if kind is _WORD:
                start = _BEFORE_WORD.search(sentence, last, max(last, start)).start()
            last = after.match(sentence, end, max(end, limit)).end()
            found = kind.search(sentence[start:last])
            mark = _SPACE if token.startswith(_SPACE) else ""
            words.append(mark + (found[0] if found else sentence[start:last]))
        return words

    def tokens(self, ids):
        """The tokens of some ids, special ones included; ▁ stands for the space before a word."""
        return [self._tokenizer.id_to_token(int(i)) for i in ids]

    def decode(self, ids, replacements=()):
        """The sentence of some ids.

        Args:
            ids: token ids. Padding and start are left out, the end ends the sentence.
            replacements: what to write for the unknown words, one after the other, with ▁ for a
                space before it; those that are left are written as the unknown word.

        Returns:
            The sentence.
        """
        ids = [int(i) for i in ids]
        if END_ID in ids:
            ids = ids[: ids.index(END_ID)]
        texts, tokens = iter(replacements), []
        for i in ids:
            if i == UNKNOWN_ID:
                tokens.append(next(texts, _SPACE + _UNKNOWN))
            elif i > START_ID:
                tokens.append(self._tokenizer.id_to_token(i))
        return self.detokenize(tokens)

    def detokenize(self, tokens):
        """The sentence of some tokens."""
        return self._tokenizer.decoder.decode(tokens)

    join = renamed_method("join", "detokenize")


class WordTokenizer(Tokenizer):
    """Splits sentences into words and punctuation marks.

    Args:
        tokenizer: see `Tokenizer`.
    """

    @classmethod
    def train(cls, sentences, min_count=1):
        """Makes a vocabulary, the frequent words first.

        It reads later sentences as these are written: if none of these has capitals, punctuation
        or letters beyond ASCII, then it lower-cases, drops punctuation or drops accents. So what
        users type meets the vocabulary.

        Args:
            sentences: the sentences to learn from: those of the training part, no others.
            min_count: words that occur less often become unknown.

        Returns:
            A `WordTokenizer`.

        Raises:
            ValueError: if no word is left.
        """
        sentences = list(sentences)
        tokenizer = _make_tokenizer(models.WordLevel(unk_token=_UNKNOWN), sentences)
        words = [word for word, count in _count_words(tokenizer, sentences) if count >= min_count]
        if not words:
            raise ValueError(
                f"No word occurs {min_count} times: give more sentences or a smaller `min_count`. "
                f"Received: {len(sentences)} sentences"
            )
        vocabulary = {word: i for i, word in enumerate([*SPECIAL_TOKENS, *words])}
        tokenizer.model = models.WordLevel(vocabulary, unk_token=_UNKNOWN)
        return cls(tokenizer)

    @staticmethod
    def count_tokens(sentence):
        """How many tokens a sentence has, whatever the vocabulary."""
        return len(_PRE_TOKENIZER.pre_tokenize_str(sentence))


class SubwordTokenizer(Tokenizer):
    """Splits sentences into words, and rare words into pieces: byte-pair encoding (BPE).

    Only a character that the training text lacks is unknown.

    Args:
        tokenizer: see `Tokenizer`.

    References:
        "Neural Machine Translation of Rare Words with Subword Units" (Sennrich et al., 2016).
    """

    @classmethod
    def train(cls, sentences, vocab_size=8000):
        """Makes a vocabulary of the characters and the pieces that are merged most often.

        It reads later sentences as these are written: see `WordTokenizer.train`.

        Args:
            sentences: the sentences to learn from, a list or what can be iterated over again: those
                of the training part, of both languages if they shall share the vocabulary.
            vocab_size: the greatest number of ids, the special ones included.

        Returns:
            A `SubwordTokenizer`.

        Raises:
            ValueError: if the vocabulary cannot hold the characters, or there are none.
        """
        tokenizer = _make_tokenizer(models.BPE(unk_token=_UNKNOWN), sentences)
        special = list(SPECIAL_TOKENS)
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size, special_tokens=special, show_progress=False
        )
        tokenizer.train_from_iterator(sentences, trainer)
        size = tokenizer.get_vocab_size()
        if size > vocab_size or size == len(special):
            raise ValueError(
                f"The sentences hold {size - len(special)} characters and pieces: give more "
                f"sentences or a greater `vocab_size`. Received: vocab_size={vocab_size}"
            )
        return cls(tokenizer)

    def words(self, sentence):
        """The text of each token of a sentence: the piece, or the character that is unknown."""
        encoding = self._tokenizer.encode(sentence)
        return [
            sentence[start:end] if token == _UNKNOWN else token
            for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True)
        ]

    def with_dropout(self, rate):
        """The same tokenizer, which however leaves out merges by chance, other ones each time.

        The random numbers are the library's own, which cannot be seeded.

        Args:
            rate: the chance to leave out a merge, in [0, 1).

        Returns:
            A `SubwordTokenizer`.

        Raises:
            ValueError: if `rate` is not in [0, 1).

        References:
            "BPE-Dropout: Simple and Effective Subword Regularization" (Provilkov et al., 2020).
        """
        check_rate(rate=rate)
        tokenizer = tokenizers.Tokenizer.from_str(self.to_json())
        tokenizer.model.dropout = rate
        return type(self)(tokenizer)


_KINDS = {models.WordLevel: WordTokenizer, models.BPE: SubwordTokenizer}


def read_tokenizer_file(path):
    """The `tokenizers.Tokenizer` of a JSON file, of whatever kind.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is no tokenizer.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no tokenizer file at {path}.")
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exceptions
        raise ValueError(f"{path} is not a tokenizer file: {error}. Received: {path}") from None


def encode_source(tokenizer, sentence):
    """What the encoder reads, when training and when translating alike: the words and the end."""
    return [*tokenizer.encode(sentence), END_ID]


def encode_target(tokenizer, sentence):
    """The start, the words and the end; the decoder reads all but the last, and predicts all but
    the first."""
    return [START_ID, *tokenizer.encode(sentence), END_ID]


def _make_tokenizer(model, sentences):
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = _normalizer(sentences)
    tokenizer.pre_tokenizer = _PRE_TOKENIZER
    tokenizer.decoder = decoders.Metaspace(_SPACE)
    return tokenizer


def _normalizer(sentences):
    """Writes everything as the sentences are written."""
    steps = [
        normalizers.NFC(),
        normalizers.Replace(_SPACE, "_"),
        # Before anything is dropped: some spaces are no ASCII.
        normalizers.Replace(Regex(r"\s+"), " "),
    ]
    if not any("’" in x for x in sentences):  # as phones write it
        steps.append(normalizers.Replace("’", "'"))
    if all(x == x.lower() for x in sentences):
        steps.append(normalizers.Lowercase())
    if all(x.isascii() for x in sentences):
        steps += [normalizers.NFD(), normalizers.Replace(Regex(r"[^\x00-\x7F]"), "")]
    if all(all(c.isalnum() or c.isspace() for c in x) for x in sentences):
        steps.append(normalizers.Replace(Regex(r"[^\w\s]|_"), ""))
    # Spaces once more: what was dropped may have stood between two.
    steps += [normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    return normalizers.Sequence(steps)


def _count_words(tokenizer, sentences):
    words = collections.Counter()
    for sentence in sentences:
        normal = tokenizer.normalizer.normalize_str(sentence)
        words.update(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
    return sorted(words.items(), key=lambda item: (-item[1], item[0]))
