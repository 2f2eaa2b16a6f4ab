"""Texts that must occur in a translation: terms, required words and copied spans."""

import collections
import re
from typing import NamedTuple

from keras_transformer._utils.special_tokens import UNKNOWN_ID

_WORD = re.compile(r"\w+|[^\w\s]")
# A URL, an e-mail address, a placeholder or a number. The lookbehinds keep the search linear.
_SPAN = re.compile(
    r"(?:https?://|www\.)[^\s<>\"]*[\w/]"
    r"|(?<![\w.+-])[\w.+-]+@\w[\w-]*(?:\.\w[\w-]*)+"
    r"|\$?(?<!\{)\{{1,2}[^{}\s]+\}{1,2}|%\(\w+\)[a-z]|%[sd]\b"
    r"|(?<!\w)\d+(?:[.,:/-]\d+)*(?!\w)"
)


class Text(NamedTuple):
    """A text that must occur in a translation."""

    text: str
    span: tuple[int, int] | None  # the characters of the sentence that it translates


class TermMatcher:
    """Finds the texts that the translation of a sentence must contain.

    Args:
        options: the `SearchOptions`.
        normalize: function from a text to its spelling in the target language.

    Raises:
        ValueError: if nothing is left of a required text when it is normalized.
    """

    def __init__(self, options, normalize):
        self._copy_spans = options.copy_spans
        self._required = [_normalized(text, normalize) for text in options.required_words]
        self._terms = {
            tuple(_WORD.findall(source)): _normalized(target, normalize)
            for source, target in options.glossary
        }
        self._longest = max(map(len, self._terms), default=0)

    def __call__(self, sentence):
        """Returns a list of `Text`, in the order of the sentence; required words come last."""
        texts, begin = [], 0
        for match in _SPAN.finditer(sentence) if self._copy_spans else ():
            texts += [*self._terms_between(sentence, begin, match.start())]
            texts.append(Text(match[0], match.span()))
            begin = match.end()
        texts += self._terms_between(sentence, begin, len(sentence))
        return texts + [Text(text, None) for text in self._required]

    def _terms_between(self, sentence, begin, end):
        """Yields the longest terms in a part of a sentence."""
        words = [*_WORD.finditer(sentence, begin, end)]
        i = 0
        while i < len(words):
            phrase = [match[0] for match in words[i : i + self._longest]]
            length, target = self._longest_term(phrase)
            if length:
                yield Text(target, (words[i].start(), words[i + length - 1].end()))
            i += max(1, length)

    def _longest_term(self, words):
        """Returns the number of words and the target of the longest term; 0 if there is none."""
        for length in range(len(words), 0, -1):
            phrase = tuple(words[:length])
            # A term in lowercase also matches at the beginning of a sentence or in a heading.
            for key in (phrase, tuple(word.lower() for word in phrase)):
                if key in self._terms:
                    return length, self._terms[key]
        return 0, None


def _normalized(text, normalize):
    normal = normalize(text)
    if not normal:
        raise ValueError(
            "The target vocabulary has none of the characters of a text that must occur in the "
            f"translation: leave it out. Received: {text!r}"
        )
    return normal


def missing_texts(texts, translation):
    """Returns the texts that do not occur in a translation as whole words, as often as listed."""
    missing = []
    # The longest first: a text within another one is not another occurrence.
    for text, count in sorted(collections.Counter(texts).items(), key=lambda x: -len(x[0])):
        pattern = whole_words(text)
        missing += [text] * (count - len(pattern.findall(translation)))
        translation = pattern.sub("\n", translation)
    return missing


def whole_words(text):
    """Returns a pattern for a text that neither continues a word nor is continued."""
    before = r"(?<!\w)" if re.match(r"\w", text) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", text) else ""
    return re.compile(before + re.escape(text) + after)


def count_words(text):
    """Returns the number of words and punctuation marks of a text."""
    return len(_WORD.findall(text))


def encode_text(tokenizer, text):
    """Returns the ids of a text that must come out unchanged, and the word of each.

    A text that the vocabulary cannot spell is one unknown token.
    """
    ids, words = tokenizer.encode(text), tokenizer.words(text)
    unknown = [word for word, i in zip(words, ids, strict=False) if i == UNKNOWN_ID]
    if len(ids) == len(words) and tokenizer.decode(ids, unknown) == text:
        return ids, words
    return [UNKNOWN_ID], ["▁" + text]
