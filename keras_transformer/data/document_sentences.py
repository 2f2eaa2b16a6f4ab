"""Sentences with marks, such as emphasis and links, that are kept in their translations."""

import dataclasses
import difflib
import html
import re

from keras_transformer.data.document_kinds import CHARACTER, ESCAPES, NOT_AT_START

_DEPTH = 20  # of nested phrases; further ones are single marks
_TRIES = 8  # number of places of a phrase that are tried
_SIMILAR = 0.75  # ratio of equal characters from which words count as inflected
_FULL_STOPS = (".", "。")
_ENDS = (*_FULL_STOPS, "!", "?", "…", ":", ";", ",", "！", "？", ")", '"', "“", "”", "»", "'")
_WORD = re.compile(r"\w")
_TAG_START = re.compile("<[a-zA-Z/!?]")


@dataclasses.dataclass
class Mark:
    """A mark in a text.

    Args:
        kind: "open", "close", "atom"; "break", in the place of a space; "phrase", two marks.
        start: number of characters before it.
        end: the end of the space or the phrase; otherwise `start`.
        raw: how it is written; of a phrase, how it begins.
        name: what an "open" and its "close" have in common.
        closing: how a phrase ends.
        children: the marks in a phrase.
    """

    kind: str
    start: int
    end: int
    raw: str
    name: str = ""
    closing: str = ""
    children: list["Mark"] = dataclasses.field(default_factory=list)


class Sentence:
    """A sentence without its marks, and the marks.

    Args:
        text: the characters of the sentence.
        raw: list of how each character is written.
        marks: list of `Mark` in their order.
        kind: kind of the document.
    """

    def __init__(self, text, raw, marks, kind):
        self._text, self._raw, self._kind = text, raw, kind
        breaks = [
            Mark("break", i, i + 1, x) for i, x in enumerate(raw) if text[i] == " " and x != " "
        ]
        self._marks = _nested(sorted([*marks, *breaks], key=lambda mark: mark.start))
        self._classes = _classes(text)

    def texts(self):
        """Yields the texts to translate: the sentence and its phrases."""
        yield self._text
        phrases = list(self._marks)
        while phrases:
            mark = phrases.pop()
            phrases += mark.children
            if phrase := self._phrase(mark):
                yield phrase

    def _phrase(self, mark):
        """Returns the text of a mark if its translation is searched, otherwise None."""
        text = self._text[mark.start : mark.end]
        whole = mark.end - mark.start == len(self._text)
        cut = "ww" in (self._classes[x : x + 2] for x in (mark.start, mark.end))
        searched = mark.kind == "phrase" and text == text.strip() and not whole and not cut
        return text if searched and any(map(str.isalpha, text)) else None

    def translated(self, found):
        """Returns the translation with the marks; `found` has one of each of `texts`."""
        whole, text = (0, len(self._text)), _with_end_of(self._text, found[self._text])
        return self._render(self._marks, whole, self._target(text, whole), found)

    def _target(self, text, source):
        start, end = source
        return _Target(text, self._text[start:end], self._raw[start:end], self._kind)

    def _render(self, marks, source, target, found, span=None):
        """Writes a part of a translation with marks.

        Args:
            marks: the marks in this part.
            source: start and end of the part of the sentence that is translated.
            target: a `_Target`, the translation.
            found: dictionary of translations.
            span: start and end of the part of the translation; None for all of it.
        """
        start, end = span = span or (0, len(target.text))
        places = [self._place(mark, source, target, span, found) for mark in marks]
        order = sorted(range(len(marks)), key=lambda i: (places[i] or (end, end))[0])
        parts, position = [], start
        for i in order:
            mark, place = marks[i], places[i]
            first, last = place or (end, end)
            first = max(first, position)
            parts += [target.spell(position, first), mark.raw]
            position = last = max(first, last)
            if mark.kind == "phrase":
                inner = (mark.start, mark.end)
                text = self._text[mark.start : mark.end]
                alone = self._target(found.get(text, text), inner)
                part = (target, found, (first, last)) if place else (alone, found)
                target.free_again(first, last)
                parts += [self._render(mark.children, inner, *part), mark.closing]
        return "".join([*parts, target.spell(position, end)])

    def _place(self, mark, source, target, span, found):
        """Returns start and end of a mark in a translation, or None if a phrase has no place."""
        length, (start, end) = max(1, source[1] - source[0]), span

        def distance(position, wanted=mark.start):
            return abs(start + (wanted - source[0]) * (end - start) / length - position)

        def best(kind, wanted, positions):
            positions = list(positions)
            edge = dict(zip(source, span, strict=True)).get(wanted)
            if edge in positions:
                return [edge]
            boundary = self._classes[wanted : wanted + 2]
            for fits in (boundary.__eq__, _FITTING[kind]):
                fitting = [x for x in positions if fits(target.classes[x : x + 2])]
                if fitting:
                    return sorted(fitting, key=lambda x: distance(x, wanted))
            return []

        if mark.kind == "phrase" and mark.start < mark.end:
            place = self._search(mark, target, span, found, distance)
            starts = [] if place else target.free(start, end)
            for first in best("open", mark.start, starts)[:_TRIES]:
                last = best("close", mark.end, target.reachable(first, end))
                if last:
                    place = (first, last[0])
                    break
        elif mark.kind == "break":
            spaces = [x for x in target.free(start, end) if target.text[x] == " "]
            unsafe = NOT_AT_START[self._kind]

            def cost(x):
                return (distance(x) > 0 and bool(unsafe.match(target.text, x + 1)), distance(x))

            first = min(spaces, key=cost, default=None)
            place = (first, first + 1) if first is not None else (end, end)
        else:
            kind = "open" if mark.kind == "open" or mark.raw[-1:].isspace() else "close"
            first = [*best(kind, mark.start, target.outside(start, end)), end][0]
            place = (first, first)
        if place:
            target.occupy(*place)
        return place

    def _search(self, mark, target, span, found, distance):
        """Returns the nearest free place of the translation of a phrase, or None."""
        phrase = self._phrase(mark)
        words = "" if phrase is None else _with_end_of(phrase, found[phrase].strip())
        if not words:
            return None
        pattern = re.escape(words)
        if " " in target.text:  # not a part of a longer word
            before, after = (r"(?<!\w)" if _WORD.match(words) else ""), r"(?!\w)"
            pattern = before + pattern + (after if _WORD.match(words[-1]) else "")
        overlapping = re.compile(f"(?=({pattern}))", re.IGNORECASE).finditer(target.text, *span)
        places = [x.span(1) for x in overlapping if target.is_free(*x.span(1))]
        if not places:
            places = target.similar(words, *span)
        return min(places, key=lambda place: distance(place[0]), default=None)


class _Target:
    """The translation of a sentence or phrase, and how it is written."""

    def __init__(self, text, source, raw, kind):
        self.text = text
        self.classes = _classes(text)
        self._kind = kind
        self._occupied = [0] * len(text)  # a number of its own for the characters of each mark
        self._number = 0
        pairs = [(x, written) for x, written in zip(source, raw, strict=True) if x != " "]
        self._written = {x: [] for x in (*ESCAPES[kind], *(x for x, y in pairs if x != y))}
        for character, written in pairs:
            if character in self._written:
                self._written[character].append(written)
        start = NOT_AT_START[kind].match(text)
        same = start and NOT_AT_START[kind].match(source)
        self._escaped = start.end() if start and not same else None

    def outside(self, start, end):
        """Returns the positions that are within no mark."""
        taken = self._occupied
        return [
            x
            for x in range(start, end + 1)
            if x in (start, end) or not taken[x] or taken[x - 1] != taken[x]
        ]

    def free(self, start, end):
        """Returns the positions of characters that no mark has."""
        return [x for x in range(start, end) if not self._occupied[x]]

    def reachable(self, start, end):
        """Yields the possible ends of a phrase that begins at `start`."""
        for x in range(start, end):
            if self._occupied[x]:
                return
            yield x + 1

    def is_free(self, start, end):
        """Whether no mark has any of these characters."""
        return not any(self._occupied[start:end])

    def similar(self, words, start, end):
        """Returns the most similar free places, as of inflected words; none if all differ much."""
        number, matcher = len(words.split()), difflib.SequenceMatcher(None, b=words.lower())
        spans = [x.span() for x in re.compile(r"\w[\w'’-]*").finditer(self.text, start, end)]
        places = {}
        for first, last in zip(spans, spans[number - 1 :], strict=False):
            place = (first[0], last[1])
            matcher.set_seq1(self.text[slice(*place)].lower())
            if self.is_free(*place) and matcher.quick_ratio() >= _SIMILAR:
                places[place] = matcher.ratio()
        best = max([_SIMILAR, *places.values()])
        return [place for place, ratio in places.items() if ratio >= best]

    def occupy(self, start, end):
        """Gives characters to a mark."""
        self._number += 1
        self._occupied[start:end] = [self._number] * (end - start)

    def free_again(self, start, end):
        """Takes characters from their mark, for the marks in it."""
        self._occupied[start:end] = [0] * (end - start)

    def spell(self, start, end):
        """Returns a part of the translation as it is written in the document.

        Each character with a meaning in markup is written as in the source; those that the source
        lacks, or whose spelling would now be markup, are escaped.
        """
        parts = []
        for i in range(start, end):
            character = self.text[i]
            written = self._written.get(character)
            raw = character
            if written is not None:
                escaped = ESCAPES[self._kind].get(character, character)
                raw = written[0] if written else escaped
                if len(written) > 1 or raw == character:
                    del written[:1]
                if raw == character and self._is_markup(i, end):
                    raw = escaped
            parts.append("\\" + raw if i == self._escaped else raw)
        return "".join(parts)

    def _is_markup(self, i, end):
        """Whether a character would begin a tag or a character reference of HTML."""
        following = self.text[i + 1 : end][:1]  # nothing before a mark
        if self._kind != "html" or self._written.get(following, [following])[:1] != [following]:
            return False  # what follows is written in another way
        if self.text[i] == "&":
            found = CHARACTER.match(self.text, i, end)
            return bool(found) and html.unescape(found[0]) != found[0]
        return bool(_TAG_START.match(self.text, i, end))


def _with_end_of(source, translation):
    """Removes the full stop that a model adds to a title or a phrase."""
    added = source[-1:] not in _ENDS and translation[-1:] in _FULL_STOPS
    return translation[:-1] if added else translation


def _nested(marks):
    """Returns marks with phrases in the place of what belongs together."""
    levels, opened = [[]], []
    for mark in marks:
        if mark.kind == "open" and len(opened) < _DEPTH:
            opened.append(mark)
            levels.append([])
        elif mark.kind == "close" and opened and opened[-1].name == mark.name:
            begin, children = opened.pop(), levels.pop()
            phrase = ("phrase", begin.start, mark.start, begin.raw, mark.name, mark.raw, children)
            levels[-1].append(Mark(*phrase))
        else:
            levels[-1].append(mark)
    while opened:
        children = levels.pop()
        levels[-1] += [opened.pop(), *children]
    return levels[0]


def _classes(text):
    """Returns a letter per character: word, space or punctuation; and a space at each end."""
    letters = ("w" if _WORD.match(x) else "s" if x.isspace() else "p" for x in text)
    return f"s{''.join(letters)}s"


# Whether a position, described by the classes before and after it, suits a mark.
_FITTING = {
    "open": lambda classes: classes[1] != "s" and classes[0] != "w",
    "close": lambda classes: classes[0] != "s" and classes[1] != "w",
}
