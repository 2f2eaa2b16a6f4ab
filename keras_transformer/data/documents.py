"""Documents: text whose lines, paragraphs and markup stay when its sentences are translated."""

import collections
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from keras_transformer._utils.checks import check_choice
from keras_transformer._utils.extras import extra
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import PathLike
from keras_transformer.data.document_kinds import PARSERS
from keras_transformer.data.document_sentences import Mark, Sentence
from keras_transformer.data.limits import Limits, line_blocks, open_limited

_SUFFIXES = {".txt": "txt", ".md": "md", ".markdown": "md", ".srt": "srt"} | dict.fromkeys(
    (".html", ".htm"), "html"
)
_LIMITS = Limits(max_bytes=1 << 22, advice="split the document")
_LONGEST = 800  # characters of a sentence; a longer one is split between words
_EMPTY_MARKS = 8  # number of marks without text between them that become one
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-\w+)*")
_BYTE_ORDER_MARK = "\ufeff"


class Document:
    """The sentences of a text, whose lines, paragraphs and markup stay when they are translated.

    Emphasis and links within a sentence are kept, too: the words between their marks are further
    `sentences`, and the marks are put around their translation in that of the whole sentence. If it
    does not occur there, as with an inline code, the marks are put between words at the same
    proportion of the sentence.

    Args:
        text: the text.
        kind: "txt", "md" (Markdown), "srt" (subtitles) or "html".
        language: code of the language of the text, such as "de", whose abbreviations do not end a
            sentence.
        name: name of the text for messages.

    Attributes:
        sentences: list of the different texts to translate.

    Raises:
        ImportError: if a package of the extra `documents` is not installed.
        TypeError: if the text is not a string.
        ValueError: if an argument is invalid, or the text is not of this kind.

    Example:
        document = kt.Document.read("letter.md", language="de")
        print(document.translated(translate(document.sentences, beam_size=4)))
    """

    sentences: list[str]

    def __init__(
        self, text: str, kind: str = "txt", language: str = "en", name: str = "the text"
    ) -> None:
        if not isinstance(text, str):
            raise TypeError(f"A document is a string. Received: {excerpt(text)}")
        check_choice(tuple(PARSERS), kind=kind)
        if not (isinstance(language, str) and _LANGUAGE.fullmatch(language)):
            raise ValueError(
                f"`language` must be a code such as en or de. Received: language={language!r}"
            )
        split = _sentence_splitter(language)
        self._text, self._kind = text, kind
        skipped = len(text) - len(text.removeprefix(_BYTE_ORDER_MARK))
        blocks = PARSERS[kind](text[skipped:], name)
        self._blocks = [_Block(text, skipped, pieces, kind, split) for pieces in blocks if pieces]
        texts = (x for block in self._blocks for x in block.texts())
        self.sentences = list(dict.fromkeys(texts))

    @classmethod
    def read(cls, path: PathLike, language: str = "en") -> Self:
        """Reads a document from a UTF-8 file; the suffix of its name tells the kind.

        Args:
            path: path of a `.txt`, `.md`, `.srt` or `.html` file.
            language: see `Document`.

        Returns:
            A `Document`.

        Raises:
            OSError: if the file cannot be read.
            ValueError: if the file has another suffix, is larger than 4 MiB, has lines of more
                than 100,000 characters, is not UTF-8 or not of its kind.
        """
        path = Path(path)
        kind = _SUFFIXES.get(path.suffix.lower())
        if kind is None:
            raise ValueError(
                f"A document must be a file of the kind {', '.join(_SUFFIXES)}: rename or convert "
                f"it. Received: {path}"
            )
        with open_limited(path, _LIMITS) as chunks:
            content = b"".join(chunks)
        for _ in line_blocks([content], path.name, _LIMITS):
            pass  # checks the encoding and the lines
        return cls(content.decode("utf-8"), kind, language, path.name)

    def translated(self, translations: Sequence[str]) -> str:
        """Returns the text with translations in the place of the sentences.

        Args:
            translations: a translation for each of `sentences`.

        Raises:
            ValueError: if the number of translations is another one.
        """
        if len(translations) != len(self.sentences):
            raise ValueError(
                f"Give a translation for each of the {len(self.sentences)} sentences. "
                f"Received: {len(translations)} translations"
            )
        found, parts, position = dict(zip(self.sentences, translations, strict=True)), [], 0
        for block in self._blocks:
            parts += [self._text[position : block.start], block.translated(found)]
            position = block.end
        return "".join([*parts, self._text[position:]])


def _sentence_splitter(language):
    """Returns a function that splits a text into sentences, with the spaces between them."""
    with extra("Documents require sentencex", "documents"):
        import sentencex

    def split(text):
        sentences = sentencex.segment(language, text)
        if "".join(sentences) != text:
            sentences = [text]
        return [part for sentence in sentences for part in _shortened(sentence)]

    return split


def _shortened(sentence):
    """Yields a sentence, or the parts of a very long one."""
    while len(sentence.strip()) > _LONGEST:
        end = sentence.rfind(" ", 1, _LONGEST) + 1 or _LONGEST
        yield sentence[:end]
        sentence = sentence[end:]
    yield sentence


class _Block:
    """A paragraph: sentences, and what is between them."""

    def __init__(self, text, offset, pieces, kind, split):
        self.start, self.end = pieces[0].start + offset, pieces[-1].end + offset
        self._characters = []  # without marks
        self._raw = []  # how each is written
        self._marks = []
        for piece in pieces:
            self._add(piece, text[piece.start + offset : piece.end + offset])
        plain, self._parts, position, end = "".join(self._characters), [], 0, 0
        self._marks = collections.deque(self._marks)
        for part in split(plain):
            start, position = position + len(part) - len(part.lstrip()), position + len(part)
            if any(map(str.isalpha, part)):
                self._parts.append(self._gap(end, start))
                end = start + len(part.strip())
                marks = self._marks_until(start, end)
                self._parts.append(Sentence(plain[start:end], self._raw[start:end], marks, kind))
        rest = self._gap(end, len(plain)), *(mark.raw for mark in self._marks)
        self._parts.append("".join(rest))

    def _add(self, piece, raw):
        if piece.kind in ("text", "char", "break"):
            if piece.kind == "text":
                raw = self._spaces_to_atom(raw)
            characters = {"text": raw, "char": piece.name, "break": " "}[piece.kind]
            self._characters += characters
            self._raw += raw if piece.kind == "text" else [raw]
        else:
            self._add_mark(piece.kind, raw, piece.name)

    def _add_mark(self, kind, raw, name):
        """Adds a mark; what has no text in it becomes one atom."""
        position, marks = len(self._raw), self._marks
        same = [mark for mark in marks[-_EMPTY_MARKS:] if mark.start == position]
        if kind == "close":
            opened = [i for i, mark in enumerate(same) if (mark.kind, mark.name) == ("open", name)]
            if opened:
                raw = "".join(mark.raw for mark in same[opened[-1] :]) + raw
                del marks[len(marks) - len(same) + opened[-1] :]
                kind = "atom"
        if kind == "atom" and marks and marks[-1].kind == "atom" and marks[-1].start == position:
            marks[-1].raw += raw
        else:
            marks.append(Mark(kind, position, position, raw, name))

    def _spaces_to_atom(self, raw):
        """Moves one of the two spaces around an atom to it, or the one before it; returns the rest.

        What is translated then has neither two spaces there, nor a space before a comma.
        """
        mark, position = self._marks[-1] if self._marks else None, len(self._raw)
        if not raw or mark is None or mark.kind != "atom" or mark.start != position:
            return raw
        if raw[0] == " " and (not position or self._characters[-1] == " "):
            mark.raw += " "
            return raw[1:]
        alone = len(self._marks) < 2 or self._marks[-2].start < position
        if alone and self._raw[-1:] == [" "] and not raw[0].isalnum() and raw[0] != " ":
            mark.raw = " " + mark.raw
            mark.start = mark.end = position - 1
            self._raw.pop(), self._characters.pop()
        return raw

    def _gap(self, start, end):
        """Returns what is written between two sentences, and removes its marks."""
        parts = []
        while self._marks and (
            self._marks[0].start < end
            or (self._marks[0].start == end and self._marks[0].kind == "close")
        ):
            mark = self._marks.popleft()
            parts += [*self._raw[start : mark.start], mark.raw]
            start = max(start, mark.start)
        return "".join([*parts, *self._raw[start:end]])

    def _marks_until(self, start, end):
        """Returns the marks of a sentence, relative to its start, and removes them."""
        marks = []
        while self._marks and (
            self._marks[0].start < end
            or (self._marks[0].start == end and self._marks[0].kind != "open")
        ):
            mark = self._marks.popleft()
            mark.start, mark.end = mark.start - start, mark.end - start
            marks.append(mark)
        return marks

    def texts(self):
        """Yields the texts to translate."""
        for part in self._parts:
            if isinstance(part, Sentence):
                yield from part.texts()

    def translated(self, found):
        """Returns the block with translations; `found` has one of each of `texts`."""
        parts = self._parts
        return "".join(x if isinstance(x, str) else x.translated(found) for x in parts)
