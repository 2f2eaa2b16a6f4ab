"""Finds the text of documents: of plain text, Markdown, subtitles and HTML.

Each parser takes the whole text and yields blocks, such as paragraphs and table cells. A block is a
list of adjacent `Piece`s; what is in no block is not text and stays as it is.
"""

import html
import re
from typing import NamedTuple

from keras_transformer._utils.extras import extra


class Piece(NamedTuple):
    """A part of a block.

    Args:
        kind: "text"; "char", one character that is written in another way, such as `&amp;`;
            "open" or "close", a mark before or after a phrase; "atom", a mark that is not text;
            "break", a space that is written in another way, such as a line break.
        start, end: the characters of the document.
        name: what an "open" and its "close" have in common; of a "char" the character.
    """

    kind: str
    start: int
    end: int
    name: str = ""


# Plain text

_INDENT = re.compile(r"[ \t>]*(?:(?:[-*+•–—]|\d{1,9}[.)])[ \t]+)?")
_ITEM = re.compile(r"[ \t>]*(?:[-*+•–—]|\d{1,9}[.)])[ \t]")
_WRAPPED = 50  # characters of the longest line of a paragraph that an editor has wrapped


def parse_text(text, name):
    """Yields the paragraphs and list items of plain text.

    A line break is within a paragraph if the next word would not have fit in the line; it ends the
    block elsewhere, as in addresses.
    """
    paragraph = []
    for start, end in [*_line_ranges(text), (len(text), len(text))]:
        if text[start:end].strip(" \t>"):
            paragraph.append((start, end))
        else:
            yield from _unwrapped(text, paragraph)
            paragraph = []


def _line_ranges(text):
    """Returns (start, end) of each line, without its line break; CRLF is one line break."""
    ranges, start = [], 0
    for found in re.finditer(r"\r\n?|\n", text):
        ranges.append((start, found.start()))
        start = found.end()
    return [*ranges, (start, len(text))]


def _unwrapped(text, lines):
    width = max((end - start for start, end in lines), default=0)
    block, last = [], None
    for start, end in lines:
        indent = _INDENT.match(text, start, end).end()
        word = len(text[indent:end].split(None, 1)[0]) if text[indent:end].strip() else 0
        joins = last is not None and width >= _WRAPPED and not _ITEM.match(text, start, end)
        if joins and last[1] - last[0] + 1 + word > width:
            block += [Piece("break", last[1], indent), Piece("text", indent, end)]
        else:
            if block:
                yield block
            block = [Piece("text", indent, end)]
        last = (start, end)
    if block:
        yield block


# Subtitles

_TIME = re.compile(r"\s*\d{1,4}:\d\d:\d\d[,.]\d{1,3}\s*-->\s*\d{1,4}:\d\d:\d\d[,.]\d{1,3}")
_SRT_MARK = re.compile(r"<(/?)([A-Za-z]\w*+)[^<>]*>|\{\\[^{}]*\}|[♪♫]+")


def parse_srt(text, name):
    """Yields the text of subtitles in the SubRip format; the lines of each are one block.

    A line that begins with a dash, as of a second speaker, begins another block.
    """
    state, block = "number", []
    for number, (start, end) in enumerate(_line_ranges(text), start=1):
        line = text[start:end]
        if state == "text" and line.strip():
            if block and line.lstrip().startswith(("-", "–", "—")):
                yield block
                block = []
            if block:
                block.append(Piece("break", block[-1].end, start))
            block += _srt_pieces(text, start, end)
        elif not line.strip():
            if state == "time":
                _refuse_subtitle(number, name, line)
            if block:
                yield block
            state, block = "number", []
        elif _TIME.match(line):
            state = "text"
        elif state == "number" and line.strip().isdecimal():
            state = "time"
        else:
            _refuse_subtitle(number, name, line)
    if state == "time":
        _refuse_subtitle(number, name, "")
    if block:
        yield block


def _srt_pieces(text, start, end):
    dash = re.compile(r"\s*[-–—]\s*").match(text, start, end)
    pieces, start = ([Piece("atom", start, dash.end())], dash.end()) if dash else ([], start)
    for mark in _SRT_MARK.finditer(text, start, end):
        pieces.append(Piece("text", start, mark.start()))
        kind = "atom" if mark[2] is None else "close" if mark[1] else "open"
        pieces.append(Piece(kind, *mark.span(), (mark[2] or "").lower()))
        start = mark.end()
    return [*pieces, Piece("text", start, end)]


def _refuse_subtitle(number, name, line):
    raise ValueError(
        f"line {number} of {name} must be the number or the time of a subtitle, such as "
        f"00:00:01,000 --> 00:00:02,500: correct the file. Received: {line.strip()[:60]!r}"
    )


# HTML

_TAG = re.compile(
    r"""<!--.*?-->|<(/?)([a-zA-Z][^\s/>]*+)((?:"[^"]*"|'[^']*'|[^'">])*+)>|<(?!!--)[!?/][^>]*>""",
    re.DOTALL,
)
_TAG_START = re.compile("<(?=[a-zA-Z/!?])")
CHARACTER = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{1,32});?")
_SPACES_OR_CHARACTER = re.compile(rf"\s+|{CHARACTER.pattern}")
_UNTRANSLATED = re.compile(r"""\stranslate\s*=\s*["']?no\b""", re.IGNORECASE)
_INLINE = {
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font"),
    *("i", "ins", "label", "mark", "q", "rp", "rt", "ruby", "s", "small", "span", "strike"),
    *("strong", "sub", "sup", "time", "tt", "u"),
}
_INLINE_ATOMS = {"img", "wbr"}
_VOID = {*_INLINE_ATOMS, "area", "base", "br", "col", "embed", "hr", "input", "link", "meta"}
# Elements that are no text: within a sentence, and between sentences.
_INLINE_CODE = {"code", "kbd", "samp", "var", "svg", "math"}
_CODE = {
    *("script", "style", "pre", "textarea", "template", "iframe", "object", "xmp", "noembed"),
    "noframes",
}


def parse_html(text, name):
    """Yields the text of HTML between tags that are not inline, without scripts, styles and code.

    Elements with `translate="no"` are not text, either.
    """
    position, block = 0, []
    while found := _TAG_START.search(text, position):
        block += _html_text(text, position, found.start())
        tag = _TAG.match(text, found.start())
        if tag is None:
            _refuse_html(text, found.start(), name, "a tag or comment that does not end")
        position, element = tag.end(), (tag[2] or "").lower()
        is_code = element in _INLINE_CODE or element in _CODE
        untranslated = element not in _VOID and _UNTRANSLATED.search(tag[3] or "")
        if not tag[1] and (is_code or untranslated):
            position = _end_of_element(text, tag, element, name)
        if element in _INLINE_CODE | _INLINE_ATOMS or (untranslated and element in _INLINE):
            block.append(Piece("atom", tag.start(), position))
        elif element in _INLINE:
            block.append(Piece("close" if tag[1] else "open", *tag.span(), element))
        elif element:
            yield block
            block = []
        elif block:  # a comment
            block.append(Piece("atom", *tag.span()))
    yield [*block, *_html_text(text, position, len(text))]


def _html_text(text, start, end):
    """Returns the pieces of text between two tags."""
    pieces = []
    for found in _SPACES_OR_CHARACTER.finditer(text, start, end):
        raw, character = found[0], html.unescape(found[0])
        if raw == " " or (raw.startswith("&") and raw == character):
            continue
        kind = "char" if len(character) == 1 else "atom"
        kind = kind if raw.startswith("&") else "break"
        pieces.append(Piece("text", start, found.start()))
        pieces.append(Piece(kind, *found.span(), character))
        start = found.end()
    return [*pieces, Piece("text", start, end)]


def _end_of_element(text, tag, element, name):
    """Returns the end of an element, which may contain others of its kind."""
    if tag[0].endswith("/>") and element in ("svg", "math"):
        return tag.end()
    nests, depth = element not in ("script", "style", "textarea"), 1
    for found in re.compile(rf"<(/?){re.escape(element)}(?=[\s/>])[^<>]*>", re.I).finditer(
        text, tag.end()
    ):
        depth += -1 if found[1] else int(nests)
        if not depth:
            return found.end()
    return _refuse_html(text, tag.start(), name, f"<{element}> without </{element}>")


def _refuse_html(text, position, name, what):
    line = text.count("\n", 0, position) + 1
    raise ValueError(
        f"line {line} of {name} has {what}: correct the file. "
        f"Received: {text[position : position + 60]!r}"
    )


# Markdown

_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:(?!---).*\n)*?---[ \t]*(?:\r?\n|\Z)")
_FOOTNOTE = re.compile(r"\[(?:\^[^\[\]\s]+|[ xX])\]:?")


def parse_markdown(text, name):
    """Yields the text of Markdown (CommonMark, tables and ~~strikethrough~~).

    Code, HTML blocks, images, the targets of links and a front matter are not text.
    """
    markdown = _markdown()
    front = _FRONT_MATTER.match(text)
    first = front.end() if front else 0
    lines = [(first + start, first + end) for start, end in _line_ranges(text[first:])]
    environment, position, opened = {}, 0, ""
    for token in markdown.parse(text[first:], environment):
        if token.type == "inline" and token.content.strip():
            in_cell = opened in ("th_open", "td_open")
            places = _places(text, lines, token, position, in_cell)
            if places:
                position = places[-1]
                yield from _markdown_blocks(markdown, environment, token.content, places)
        opened = token.type


def _markdown():
    with extra("Documents in Markdown require markdown-it-py", "documents"):
        from markdown_it import MarkdownIt
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    markdown.core.ruler.disable(["inline", "text_join"])
    markdown.inline.ruler2.disable("fragments_join")
    names, rules = markdown.get_active_rules()["inline"], markdown.inline.ruler.getRules("")
    for rule_name, rule in zip(names, rules, strict=True):
        if rule_name != "text":
            markdown.inline.ruler.at(rule_name, _recording(rule_name, rule))
    return markdown


def _recording(name, rule):
    """Returns an inline rule that also records the characters that it has read."""

    def record(state, silent):
        start, records = state.pos, state.env.get("records")
        done = rule(state, silent)
        if not done or silent or state.tokens is not state.env.get("tokens"):
            return done
        if name == "link":
            label = state.md.helpers.parseLinkLabel(state, start, True)
            records += [("open", start, start + 1), ("close", label, state.pos)]
        elif name in ("emphasis", "strikethrough"):
            end = state.pos
            for token in reversed(state.tokens):
                records.append((token, end - len(token.content), end))
                end -= len(token.content)
                if end <= start:
                    break
        else:
            hard = state.tokens and state.tokens[-1].type == "hardbreak"
            records.append(("hard" if hard else name, start, state.pos))
        return done

    return record


def _places(text, lines, token, position, in_cell):
    """Returns the place in the document of each character of a token, and of its end.

    Returns None if the parser has changed the text, as it does with `\\|` in a table. The text is
    at the end of its lines, except in cells and headings.
    """
    places = []
    for number, line in enumerate(token.content.split("\n"), start=token.map[0]):
        start, end = max(position, lines[number][0]), lines[number][1]
        row = text[start:end].rstrip()
        at_end = row.endswith(line.rstrip()) and not in_cell
        column = len(row) - len(line.rstrip()) if at_end else row.find(line)
        if column < 0:
            return None
        places += range(start + column, start + column + len(line) + 1)
    return places


def _markdown_blocks(markdown, environment, content, places):
    tokens, records = [], []
    environment |= {"tokens": tokens, "records": records}
    markdown.inline.parse(content, markdown, environment, tokens)
    records += [("footnote", *found.span()) for found in _FOOTNOTE.finditer(content)]
    block, position = [], 0
    for what, start, end in sorted(records, key=lambda record: (record[1], -record[2])):
        kind, name = _markdown_kind(what, content[start:end])
        if start < position or kind == "text":  # within an atom, or a lone *
            continue
        block.append(Piece("text", places[position], places[start]))
        if kind == "end":
            yield _with_whole_marks(block)
            block = []
        else:
            block.append(Piece(kind, places[start], places[end], name))
        position = end
    yield _with_whole_marks([*block, Piece("text", places[position], places[len(content)])])


def _markdown_kind(what, raw):
    """Returns the kind and the name of a piece."""
    if not isinstance(what, str):  # a token of emphasis
        if what.type == "text":
            return ("text", "") if what.content else ("half", "")
        name, _, kind = what.type.rpartition("_")
        return kind, name
    if what in ("open", "close"):
        return what, "link"
    if what == "newline":
        return "break", ""
    tag = _TAG.match(raw) if what == "html_inline" else None
    if what == "hard" or (tag and tag[2] and tag[2].lower() == "br"):
        return "end", ""
    if tag and tag[2] and tag[2].lower() in _INLINE:
        return "close" if tag[1] else "open", tag[2].lower()
    character = raw[1:] if what == "escape" else html.unescape(raw)
    if what in ("escape", "entity") and len(character) == 1:
        return "char", character
    return "atom", ""


def _with_whole_marks(pieces):
    """Joins the two characters of ** and __, of which the parser names only the inner one."""
    pieces = [x for x in pieces if x.kind != "text" or x.start < x.end]
    joined = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last and last.kind == "half" and piece.kind == "open":
            joined[-1] = piece._replace(start=last.start)
        elif piece.kind == "half" and last and last.kind == "close" and last.end - last.start == 1:
            joined[-1] = last._replace(end=piece.end)
        else:
            joined.append(piece)
    return joined


PARSERS = {
    "txt": parse_text,
    "md": parse_markdown,
    "srt": parse_srt,
    "html": parse_html,
}
# What a character that has a meaning in a kind of document is written as if it is text.
ESCAPES = {
    "txt": {},
    "srt": {},
    "html": {x: html.escape(x) for x in "&<>"},
    "md": {**{x: f"\\{x}" for x in "\\`*_[]|<"}, "&": "&amp;"},
}
# What would be a list item, a heading or a quote at the beginning of a line; its end is escaped.
_NEVER = re.compile("(?!)")
NOT_AT_START = {
    **dict.fromkeys(PARSERS, _NEVER),
    "md": re.compile(r"\d{1,9}(?=[.)](?:\s|\Z))|(?=[-+#]\s|>)"),
}
