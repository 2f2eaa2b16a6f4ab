"""Words as ids, and back without loss."""

import collections
import os
import re

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

from keras_transformer.files import replacing
from keras_transformer.special_tokens import END_ID, SPECIAL_TOKENS, START_ID, UNKNOWN_ID

# A word keeps the mark of the space before it (and its inner apostrophes), a punctuation mark is a
# token of its own: so the text can be put together again as it was.
_SPACE = "▁"
_TOKEN = Regex(rf"{_SPACE}?\w+(?:['’]\w+)*|{_SPACE}?[^\w\s{_SPACE}]")
_PRE_TOKENIZER = pre_tokenizers.Sequence(
    [pre_tokenizers.Metaspace(_SPACE), pre_tokenizers.Split(_TOKEN, "isolated")]
)

_REST = re.compile(r"[\w\u0300-\u036f]*")  # letters and accents that were dropped after the others


class WordTokenizer:
    """Splits sentences into words and punctuation marks, and joins them again.

    What it takes apart it puts together again: `decode(encode(s)) == normalize(s)` for every
    sentence of known words. Its file is the JSON of Hugging Face `tokenizers`.

    Args:
        tokenizer: the `tokenizers.Tokenizer` that does the work; made by `train` or `load`.
    """

    def __init__(self, tokenizer):
        # Text like "[END]" that somebody types is text.
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer

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
        tokenizer = tokenizers.Tokenizer(models.WordLevel(unk_token=SPECIAL_TOKENS[UNKNOWN_ID]))
        tokenizer.normalizer = _normalizer("".join(sentences))
        tokenizer.pre_tokenizer = _PRE_TOKENIZER
        tokenizer.decoder = decoders.Metaspace(_SPACE)
        words = [word for word, count in _count_words(tokenizer, sentences) if count >= min_count]
        if not words:
            raise ValueError(
                f"No word occurs {min_count} times: give more sentences or a smaller `min_count`. "
                f"Received: {len(sentences)} sentences"
            )
        vocabulary = {word: i for i, word in enumerate([*SPECIAL_TOKENS, *words])}
        tokenizer.model = models.WordLevel(vocabulary, unk_token=SPECIAL_TOKENS[UNKNOWN_ID])
        return cls(tokenizer)

    @staticmethod
    def count_tokens(sentence):
        """How many tokens a sentence has, whatever the vocabulary."""
        return len(_PRE_TOKENIZER.pre_tokenize_str(sentence))

    @classmethod
    def load(cls, path):
        """Reads what `save` wrote.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the file is no tokenizer of this kind.
        """
        if not os.path.exists(path):
            raise FileNotFoundError(f"There is no tokenizer file at {path}.")
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exceptions
            raise ValueError(f"{path} is not a tokenizer file: {error}. Received: {path}") from None
        found = tuple(tokenizer.id_to_token(i) for i in range(len(SPECIAL_TOKENS)))
        parts = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder)
        if any(part is None for part in parts):
            raise ValueError(f"{path} lacks the rules for splitting and joining. Received: {path}")
        if found != SPECIAL_TOKENS:
            raise ValueError(
                f"The vocabulary of {path} must begin with {SPECIAL_TOKENS}. Received: {found}"
            )
        return cls(tokenizer)

    def save(self, path):
        """Writes a JSON file."""
        with replacing(path) as beside:
            beside.write_text(self.to_json(), encoding="utf-8")

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
        """The text of each token of a sentence, known or not, as it stands there."""
        offsets = self._tokenizer.encode(sentence).offsets
        next_starts = [*(start for start, _ in offsets[1:]), len(sentence)]
        words = []
        for (start, end), next_start in zip(offsets, next_starts, strict=False):
            end = _REST.match(sentence, end, max(end, next_start)).end()
            words.append(sentence[start:end].strip())
        return words

    def tokens(self, ids):
        """The tokens of some ids, special ones included; ▁ stands for the space before a word."""
        return [self._tokenizer.id_to_token(int(i)) for i in ids]

    def decode(self, ids, replacements=()):
        """The sentence of some ids.

        Args:
            ids: token ids. Padding and start are left out, the end ends the sentence.
            replacements: what to write for the unknown words, one after the other; those that are
                left are written as the unknown word.

        Returns:
            The sentence.
        """
        ids = [int(i) for i in ids]
        if END_ID in ids:
            ids = ids[: ids.index(END_ID)]
        texts, tokens = iter(replacements), []
        for i in ids:
            if i == UNKNOWN_ID:
                tokens.append(_SPACE + next(texts, SPECIAL_TOKENS[UNKNOWN_ID]))
            elif i > START_ID:
                tokens.append(self._tokenizer.id_to_token(i))
        return self.join(tokens)

    def join(self, tokens):
        """The sentence of some tokens."""
        return self._tokenizer.decoder.decode(tokens)


def encode_source(tokenizer, sentence):
    """What the encoder reads, when training and when translating alike: the words and the end."""
    return [*tokenizer.encode(sentence), END_ID]


def encode_target(tokenizer, sentence):
    """The start, the words and the end; the decoder reads all but the last, and predicts all but
    the first."""
    return [START_ID, *tokenizer.encode(sentence), END_ID]


def _normalizer(text):
    steps = [
        normalizers.NFC(),
        normalizers.Replace(_SPACE, "_"),
    ]
    if "’" not in text:  # as phones write it
        steps.append(normalizers.Replace("’", "'"))
    if text == text.lower():
        steps.append(normalizers.Lowercase())
    if text.isascii():
        steps += [normalizers.NFD(), normalizers.Replace(Regex(r"[^\x00-\x7F]"), "")]
    if all(character.isalnum() or character.isspace() for character in text):
        steps.append(normalizers.Replace(Regex(r"[^\w\s]|_"), ""))
    # Spaces last: what was dropped may have stood between two.
    steps += [normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    return normalizers.Sequence(steps)


def _count_words(tokenizer, sentences):
    words = collections.Counter()
    for sentence in sentences:
        normal = tokenizer.normalizer.normalize_str(sentence)
        words.update(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal))
    return sorted(words.items(), key=lambda item: (-item[1], item[0]))
