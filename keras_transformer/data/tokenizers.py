"""Reversible tokenizers: sentences to ids and back."""

import collections
import itertools
import json
import re
from collections.abc import Callable, Iterable
from typing import Self

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from keras_transformer._utils.checks import check_rate
from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.special_tokens import END_ID, SPECIAL_TOKENS, START_ID, UNKNOWN_ID
from keras_transformer._utils.types import PathLike
from keras_transformer.data.tokenizer_files import (
    MAX_TOKENS,
    added_tokens,
    check_merges,
    read_tokenizer_file,
)

# Words keep a mark for the space before them and their inner apostrophes; punctuation marks are
# separate tokens. This makes tokenization reversible.
_SPACE = "▁"
_UNKNOWN = SPECIAL_TOKENS[UNKNOWN_ID]
_TOKEN = Regex(rf"{_SPACE}?\w+(?:['’]\w+)*|{_SPACE}?[^\w\s{_SPACE}]")
_PRE_TOKENIZER = pre_tokenizers.Sequence(
    [pre_tokenizers.Metaspace(_SPACE), pre_tokenizers.Split(_TOKEN, "isolated")]
)

# The original text of a token, see `Tokenizer.words`, includes characters that the normalizer drops
# only if they are letters within a word or combining accents.
_ACCENTS = r"[\u0300-\u036f]*"
_LETTERS = r"[\w\u0300-\u036f]*"
_WORD = re.compile(r"\w\S*\Z")
_PUNCTUATION = re.compile(rf"[^\w\u0300-\u036f]{_ACCENTS}\Z")
_BEFORE_WORD, _AFTER_WORD = re.compile(rf"{_LETTERS}\Z"), re.compile(_LETTERS)
_AFTER_PUNCTUATION = re.compile(_ACCENTS)


class ReversibleTokenizer:
    """Base class of tokenizers for translation, which has what follows from these methods."""

    to_json: Callable[[], str]
    encode: Callable[[str], list[int]]
    words: Callable[[str], list[str]]
    tokens: Callable[[Iterable[int]], list[str]]
    detokenize: Callable[[Iterable[str]], str]

    def save(self, path: PathLike) -> None:
        """Writes the tokenizer to a JSON file."""
        with atomic_replace(path) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8")

    def unknown_words(self, sentence: str) -> list[str]:
        """Returns the words of a sentence that are not in the vocabulary."""
        found = zip(self.words(sentence), self.encode(sentence), strict=False)
        return [word.removeprefix(_SPACE) for word, i in found if i == UNKNOWN_ID]

    def decode(self, ids: Iterable[int], replacements: Iterable[str] = ()) -> str:
        """Converts ids to a sentence.

        Args:
            ids: token ids. Padding and start tokens are skipped; the sentence ends at the first end
                token.
            replacements: texts for the unknown tokens in their order, with ▁ for a space before a
                word. Further unknown tokens are written as "[UNK]".

        Returns:
            The sentence.
        """
        ids = [int(i) for i in ids]
        if END_ID in ids:
            ids = ids[: ids.index(END_ID)]
        texts, tokens = iter(replacements), []
        for i, token in zip(ids, self.tokens(ids), strict=True):
            if i == UNKNOWN_ID:
                tokens.append(next(texts, _SPACE + _UNKNOWN))
            elif i > START_ID:
                tokens.append(token)
        return self.detokenize(tokens)


class Tokenizer(ReversibleTokenizer):
    """Base class of `WordTokenizer` and `SubwordTokenizer`.

    Tokenization is reversible: `decode(encode(s)) == normalize(s)` for every sentence without
    unknown tokens. The file format is the JSON of Hugging Face `tokenizers`.

    Args:
        tokenizer: a `tokenizers.Tokenizer`. Use `train` of a subclass, or `load`, to make one.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        # "[END]" in a sentence is text, not the special token.
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer

    @staticmethod
    def load(path: PathLike) -> "Tokenizer":
        """Loads a tokenizer from a file written by `save`.

        The file may come from an untrusted source: only the vocabulary, the merges and the choice
        of normalization are taken from it. Everything else must be as `save` writes it.

        Args:
            path: path of the JSON file.

        Returns:
            A `WordTokenizer` or a `SubwordTokenizer`, depending on the file.

        Raises:
            FileNotFoundError: if the file does not exist.
            ValueError: if the file is not a word or BPE tokenizer of this package, or its
                vocabulary or merges are damaged.
        """
        content = read_tokenizer_file(path)
        model, kind = content["model"], content["model"]["type"]
        if kind not in _CLASSES:
            raise ValueError(
                f"{path} must be a tokenizer of words or BPE sub-words. Received: {excerpt(kind)}"
            )
        _check_special_tokens(content, path)
        tokenizer_class, read_model = _CLASSES[kind]
        tokenizer = _matching_tokenizer(content, path)
        tokenizer.model = read_model(model, path)
        if content["added_tokens"]:
            tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
        return tokenizer_class(tokenizer)

    def to_json(self) -> str:
        """Returns the tokenizer as JSON text."""
        return self._tokenizer.to_str(pretty=True)

    @property
    def vocab_size(self) -> int:
        """Number of tokens, including the special tokens."""
        return self._tokenizer.get_vocab_size()

    def normalize(self, sentence: str) -> str:
        """Returns the sentence with the spelling of the vocabulary: case, punctuation, spaces."""
        return self._tokenizer.normalizer.normalize_str(sentence)

    def tokenize(self, sentence: str) -> list[str]:
        """Splits a sentence into tokens; ▁ marks a space before a word."""
        return self._tokenizer.encode(sentence).tokens

    def encode(self, sentence: str) -> list[int]:
        """Returns the ids of a sentence, without start and end token; unknown words get id 1."""
        return self._tokenizer.encode(sentence).ids

    def words(self, sentence: str) -> list[str]:
        """Returns the original text of each token of a sentence, including the unknown ones.

        ▁ marks a space before a word.
        """
        normal, sentence = self.normalize(sentence), sentence.replace(_SPACE, "_")
        tokens = [token for token, _ in self._tokenizer.pre_tokenizer.pre_tokenize_str(normal)]
        offsets = self._tokenizer.encode(sentence).offsets
        next_starts = [*(start for start, _ in offsets[1:]), len(sentence)]
        words, last = [], 0
        for token, (start, end), limit in zip(tokens, offsets, next_starts, strict=False):
            pattern, after = _WORD, _AFTER_WORD
            if not _WORD.search(token):
                pattern, after = _PUNCTUATION, _AFTER_PUNCTUATION
            if pattern is _WORD:
                start = _BEFORE_WORD.search(sentence, last, max(last, start)).start()  # type: ignore[union-attr]
            last = after.match(sentence, end, max(end, limit)).end()  # type: ignore[union-attr]
            found = pattern.search(sentence[start:last])
            mark = _SPACE if token.startswith(_SPACE) else ""
            words.append(mark + (found[0] if found else sentence[start:last]))
        return words

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Returns the tokens of ids, including special tokens; ▁ marks a space before a word."""
        return [self._tokenizer.id_to_token(int(i)) for i in ids]

    def detokenize(self, tokens: Iterable[str]) -> str:
        """Joins tokens to a sentence."""
        return self._tokenizer.decoder.decode(tokens)


class WordTokenizer(Tokenizer):
    """Splits sentences into words and punctuation marks.

    Tokenization is reversible: `decode(encode(s)) == normalize(s)` for every sentence without
    unknown words. The file format is the JSON of Hugging Face `tokenizers`.

    Args:
        tokenizer: a `tokenizers.Tokenizer`. Use `train` or `load` to make one.

    Example:
        >>> tokenizer = kt.WordTokenizer.train(["Good morning!", "Good night!"])
        >>> tokenizer.tokenize("Good night!")
        ['▁Good', '▁night', '!']
        >>> ids = tokenizer.encode("Good evening!")
        >>> ids
        [5, 1, 4]
        >>> tokenizer.decode(ids)
        'Good [UNK]!'
    """

    @classmethod
    def train(cls, sentences: Iterable[str], min_count: int = 1) -> Self:
        """Trains a tokenizer: collects the words of the sentences, the most frequent first.

        The tokenizer normalizes its input to the spelling of these sentences. If they have no
        uppercase letters, it lowercases; if they have no punctuation, it removes punctuation; if
        they are ASCII only, it removes accents and other non-ASCII characters.

        Args:
            sentences: iterable of the sentences of the training part.
            min_count: minimum count of a word; rarer words are unknown.

        Returns:
            A `WordTokenizer`.

        Raises:
            ValueError: if no word occurs `min_count` times, or too many words do.

        Example:
            >>> tokenizer = kt.WordTokenizer.train(["good morning", "good night"])
            >>> tokenizer.tokenize("Good night!")
            ['▁good', '▁night']
        """
        sentences = list(sentences)
        tokenizer = _make_tokenizer(models.WordLevel(unk_token=_UNKNOWN), *_spelling(sentences))
        words = [word for word, count in _count_words(tokenizer, sentences) if count >= min_count]
        if not words:
            raise ValueError(
                f"No word occurs {min_count} times: give more sentences or a smaller `min_count`. "
                f"Received: {len(sentences)} sentences"
            )
        vocabulary = {word: i for i, word in enumerate([*SPECIAL_TOKENS, *words])}
        if len(vocabulary) > MAX_TOKENS:  # `load` would refuse them
            raise ValueError(
                f"The vocabulary can have {MAX_TOKENS:,} tokens: give a larger `min_count`. "
                f"Received: {len(vocabulary):,} tokens"
            )
        tokenizer.model = models.WordLevel(vocabulary, unk_token=_UNKNOWN)
        return cls(tokenizer)

    @staticmethod
    def count_tokens(sentence: str) -> int:
        """Counts the words and punctuation marks of a sentence; needs no vocabulary."""
        return len(_PRE_TOKENIZER.pre_tokenize_str(sentence))


class SubwordTokenizer(Tokenizer):
    """Splits sentences into sub-words by byte-pair encoding (BPE).

    Only characters that do not occur in the training text are unknown.

    Args:
        tokenizer: see `Tokenizer`.

    References:
        "Neural Machine Translation of Rare Words with Subword Units" (Sennrich et al., 2016).
    """

    @classmethod
    def train(cls, sentences: Iterable[str], vocab_size: int = 8000) -> Self:
        """Trains a tokenizer: learns the merges of byte-pair encoding.

        The tokenizer normalizes its input to the spelling of these sentences, see
        `WordTokenizer.train`.

        Args:
            sentences: the sentences of the training part, of both languages for a shared
                vocabulary. They are iterated over several times.
            vocab_size: maximum number of tokens, including the special tokens.

        Returns:
            A `SubwordTokenizer`.

        Raises:
            ValueError: if there are no characters, or more than the vocabulary can contain.
        """
        tokenizer = _make_tokenizer(models.BPE(unk_token=_UNKNOWN), *_spelling(sentences))
        special = list(SPECIAL_TOKENS)
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size, special_tokens=special, show_progress=False
        )
        tokenizer.train_from_iterator(sentences, trainer)
        size = tokenizer.get_vocab_size()
        if size > vocab_size or size == len(special):
            raise ValueError(
                f"The sentences have {size - len(special)} different characters: give more "
                f"sentences or a larger `vocab_size`. Received: vocab_size={vocab_size}"
            )
        return cls(tokenizer)

    def words(self, sentence: str) -> list[str]:
        """Returns the text of each token of a sentence: the sub-word or the unknown character."""
        encoding = self._tokenizer.encode(sentence)
        return [
            sentence[start:end] if token == _UNKNOWN else token
            for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True)
        ]

    def with_dropout(self, rate: float) -> Self:
        """Returns a copy that skips merges at random on every call (BPE-dropout).

        The random numbers are those of Hugging Face `tokenizers`, which cannot be seeded.

        Args:
            rate: probability of skipping a merge, in [0, 1).

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


def _read_words(model, path):
    return models.WordLevel(model["vocab"], unk_token=_UNKNOWN)


def _read_subwords(model, path):
    check_merges(model["merges"], model["vocab"], path)
    dropout = model["dropout"]
    if dropout is not None:
        check_rate(dropout=dropout)
    merges = [tuple(merge) for merge in model["merges"]]
    return models.BPE(model["vocab"], merges, dropout=dropout, unk_token=_UNKNOWN)


# Types of models in a file -> the class, and the function that reads the model.
_CLASSES = {
    "WordLevel": (WordTokenizer, _read_words),
    "BPE": (SubwordTokenizer, _read_subwords),
}
_DATA = ("vocab", "merges", "dropout")  # what differs between models of one type


def _check_special_tokens(content, path):
    vocabulary = content["model"]["vocab"]
    found = tuple(sorted(vocabulary, key=vocabulary.get)[: len(SPECIAL_TOKENS)])
    if found != SPECIAL_TOKENS:
        raise ValueError(
            f"The vocabulary of {path} must begin with {SPECIAL_TOKENS}. Received: {excerpt(found)}"
        )
    if content["added_tokens"] not in ([], added_tokens(SPECIAL_TOKENS)):
        raise ValueError(
            f"{path} must declare no added tokens, or exactly {SPECIAL_TOKENS}. "
            f"Received: {excerpt(content['added_tokens'])}"
        )


def _matching_tokenizer(content, path):
    """Returns the tokenizer without vocabulary that is written like the content of a file.

    The library obeys rules in a file that this package never writes, some of which exhaust the
    memory or abort the process. So it gets no rule from a file.
    """
    model_class, differences = getattr(models, content["model"]["type"]), []
    for spelling in itertools.product((False, True), repeat=4):
        tokenizer = _make_tokenizer(model_class(unk_token=_UNKNOWN), *spelling)
        expected = json.loads(tokenizer.to_str())
        data = {name: x for name, x in expected["model"].items() if name in _DATA}
        model = {name: data.get(name, x) for name, x in content["model"].items()}
        found = {**content, "added_tokens": [], "model": model}
        differences.append([name for name in expected if found[name] != expected[name]])
        if not differences[-1]:
            return tokenizer
    raise ValueError(
        f"{path} must have the rules that `save` writes: train the tokenizer with this package. "
        f"Received: other rules in {', '.join(min(differences, key=len))}"
    )


def unknown_share(tokenizer, sentences):
    """Returns the share of unknown tokens in sentences."""
    ids = [i for sentence in sentences for i in tokenizer.encode(sentence)]
    return ids.count(UNKNOWN_ID) / max(1, len(ids))


def encode_source(tokenizer, sentence):
    """Returns the ids that the encoder reads: the sentence and the end token."""
    return [*tokenizer.encode(sentence), END_ID]


def encode_target(tokenizer, sentence):
    """Returns the target ids: the start token, the sentence and the end token.

    The decoder reads all but the last id and predicts all but the first.
    """
    return [START_ID, *tokenizer.encode(sentence), END_ID]


def _make_tokenizer(model, *spelling):
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = _normalizer(*spelling)
    tokenizer.pre_tokenizer = _PRE_TOKENIZER
    tokenizer.decoder = decoders.Metaspace(_SPACE)
    return tokenizer


def _spelling(sentences):
    """Returns the arguments of `_normalizer` for the spelling of the sentences."""
    return (
        any("’" in x for x in sentences),
        all(x == x.lower() for x in sentences),
        all(x.isascii() for x in sentences),
        all(all(c.isalnum() or c.isspace() for c in x) for x in sentences),
    )


def _normalizer(typographic, lowercase, ascii_only, words_only):
    """Returns a normalizer of case, accents and punctuation.

    Args:
        typographic: whether to keep typographic apostrophes.
        lowercase: whether to lowercase.
        ascii_only: whether to remove accents and other non-ASCII characters.
        words_only: whether to remove punctuation.
    """
    steps = [
        normalizers.NFC(),
        normalizers.Replace(_SPACE, "_"),
        # First, because some spaces are not ASCII and would be removed below.
        normalizers.Replace(Regex(r"\s+"), " "),
    ]
    if not typographic:  # phones insert typographic apostrophes
        steps.append(normalizers.Replace("’", "'"))
    if lowercase:
        steps.append(normalizers.Lowercase())
    if ascii_only:
        steps += [normalizers.NFD(), normalizers.Replace(Regex(r"[^\x00-\x7F]"), "")]
    if words_only:
        steps.append(normalizers.Replace(Regex(r"[^\w\s]|_"), ""))
    # Again, because a removed character may have been between two spaces.
    steps += [normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    return normalizers.Sequence(steps)


def _count_words(tokenizer, sentences):
    words = collections.Counter()
    for sentence in sentences:
        normal = tokenizer.normalizer.normalize_str(sentence)
        words.update(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
    return sorted(words.items(), key=lambda item: (-item[1], item[0]))
