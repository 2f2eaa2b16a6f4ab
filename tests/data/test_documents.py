"""Documents: what is not text comes out byte for byte, and marks move with their words."""

import random
import re

import pytest

import keras_transformer as kt
from keras_transformer.data.document_kinds import PARSERS

pytest.importorskip("sentencex")
pytest.importorskip("markdown_it")

# Parts of documents, joined at random: those without spaces, and others.
MARKS = {
    "md": "word * ** _ `c` [ ](u) # &amp; &lt; \\* <b> </b> <br> < a ~~ ![i](j) ü & 漢字。",
    "html": "word <b> </b> <i> </i> <p> </p> <code> </code> </a> <img> <pre> </pre> <svg/> <script>"
    " </script> &amp; &lt; <br> & < ü &uuml; &no;",
}
PARTS = {
    "md": [
        *MARKS["md"].split(),
        *("Dr. A. ", "\n", "\n\n", "> ", "- ", "1. ", "  ", "\t", "\n|---|---|\n", " "),
        *("\r\n", "    ", "```\n", "\\\n", "\0", "\xa0"),
    ],
    "html": [*MARKS["html"].split(), " ", "\n", "\r", ". X", "<!-- c -->", "<a href='x'>"],
    "txt": ["word", "\n", "\n\n", "- ", "> ", "1. ", " ", "a. B", "\t", "x" * 30, "\r\n", "\r"],
    "srt": ["word", "<i>", "</i>", " ", "\n", "- ", "a. B", "{\\an8}", "♪", "\n\n", "2\n"],
}
TIME = "1\n00:00:01,000 --> 00:00:02,500\n"
MARKDOWN = """---
title: kept
---
# The *first* title

Dr. Smith saw it. It is **very** big, see [the plan](http://x/a_(b) "T"), e.g. at 5 \\* 3 &amp; 4.

- one item that
  goes on with `code` and
  > a quote. It has
  > **two lines**.
1. ***both*** and ~~struck~~

| head | *second* |
|------|---------:|
| cell | `x`<br>b |

```python
x = "kept"
```

![kept](a.png) <https://kept>[^1]

[ref]: http://kept "kept"
"""
HTML = """<!DOCTYPE html><title>one &amp; two</title><style>p { kept: 1 }</style><!-- kept -->
<p class="a>b">Hello <b>dear</b> friend.
  How <a href="k?a=1&amp;b">are you</a>?<br>next &uuml;ber AT&T 3 < 4 <code>kept</code></p>
<script>if (a < b) kept("</p>")</script><p translate="no">kept</p><pre>kept <b>x</b></pre>"""
SRT = f"{TIME}<i>the first\nline.</i> Next.\n\n2{TIME[1:]}- one\n- {{\\an8}}two\n"
TEXT = """Jo Smith
Main Road 5

thank you for your letter of last week. We have read all of it with interest and
would like to answer, e.g. at once.

- one
> two
"""
DOCUMENTS = {"md": MARKDOWN, "html": HTML, "srt": SRT, "txt": TEXT}


def sentences_to(translate, text, kind):
    document = kt.Document(text, kind)
    return document.translated([translate(x) for x in document.sentences])


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_comes_back_byte_for_byte(tmp_path, kind):
    for line_break in ("\n", "\r\n"):
        for content in (DOCUMENTS[kind], DOCUMENTS[kind].rstrip(), "\ufeff" + DOCUMENTS[kind], ""):
            path = tmp_path / f"document.{kind.upper()}"
            path.write_bytes(content.replace("\n", line_break).encode())
            document = kt.Document.read(path)
            assert document.translated(document.sentences).encode() == path.read_bytes()
            assert bool(document.sentences) == bool(content)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_only_text_changes(kind):
    found = sentences_to(str.upper, DOCUMENTS[kind], kind)
    kept = re.compile(r"&\w+;|\bkept\b|<[^>]*>|http[^\s)]*|\{\\an8\}|`[^`]*`", re.IGNORECASE)
    text = DOCUMENTS[kind]
    if kind == "md":  # parts that are no text are lower case
        parts = ("title: kept", 'x = "kept"', "`code`", "a.png", "python", 'http://x/a_(b) "T"')
        assert all(part in found for part in parts)
    assert found.casefold() == text.casefold().replace("&uuml;", "ü")
    assert [x for x in kept.findall(found) if x != "ü"] == [
        x for x in kept.findall(text) if x != "&uuml;"
    ]


@pytest.mark.parametrize("kind", PARTS)
def test_any_document_comes_back_or_is_refused(kind):
    rng, served = random.Random(0), 0
    for _ in range(300):
        text = "".join(rng.choices(PARTS[kind], k=rng.randint(0, 30)))
        text = TIME + text if kind == "srt" else text
        try:
            document = kt.Document(text, kind)
        except ValueError as error:
            assert re.match(r"line \d+ of the text ", str(error))
            continue
        assert document.translated(document.sentences) == text
        # Any translations keep the marks. In Markdown they may be text.
        longer = document.translated([f"{x} y z" for x in document.sentences])
        shorter = document.translated(["x" for _ in document.sentences])
        for mark in ("</b>", "</i>", "<a href='x'>", "{\\an8}", "♪") if kind != "md" else ():
            assert longer.count(mark) == shorter.count(mark) == text.count(mark)
        served += 1
    assert served > 50


MOVED = {
    "a phrase": ("md", "see *the plan* now", {"the plan": "den Plan"},
                 "x den Plan y", "x *den Plan* y"),
    "its order": ("md", "*a* and [b](u)", {"a": "A.", "b": "B."}, "B und A", "[B](u) und *A*"),
    "inflected": ("html", "a <b>big house</b>", {"big house": "großes Haus"},
                  "im großen Haus", "im <b>großen Haus</b>"),
    "in another phrase": ("html", "<i>so <b>big</b></i> x", {"big": "groß", "so big": "groß so"},
                          "x groß so", "x <i><b>groß</b> so</i>"),
    "not found": ("md", "aa *bb* cc", {"bb": "nothing"}, "dd ee ff", "dd *ee* ff"),
    "code": ("md", "run `x` now", {}, "jetzt los", "jetzt `x` los"),
    "code before a comma": ("md", "run `x`, or", {}, "los, oder", "los `x`, oder"),
    "no words": ("html", "a <b>b</b> <i>c</i>", {"b": "B", "c": "C"}, "", "<b>B</b><i>C</i>"),
    "a line break": ("srt", f"{TIME}aa bb\ncc dd", {}, "ee ff gg hh", f"{TIME}ee ff\ngg hh"),
    "a title": ("txt", "A title", {}, "Ein Titel.", "Ein Titel"),
    "escaped": ("html", "a <b>b</b>", {"b": "&lt;"}, "<i> &lt;", "&lt;i&gt; <b>&amp;lt;</b>"),
    "markup": ("md", "third place", {}, "3. [Platz] *", "3\\. \\[Platz\\] \\*"),
    "Chinese": ("md", "see *the plan*", {"the plan": "计划"}, "请看计划书", "请看*计划*书"),
}  # fmt: skip


@pytest.mark.parametrize("case", MOVED.values(), ids=MOVED)
def test_marks_move_with_their_words(case):
    kind, text, phrases, translation, expected = case
    assert sentences_to(lambda x: phrases.get(x, translation), text, kind) == expected


def test_sentences_are_split_but_not_at_abbreviations():
    german = "Dr. Müller mag Obst, z. B. Äpfel … und Eis. „Wirklich?“ Ja!"
    assert kt.Document(german, language="de").sentences == [
        *("Dr. Müller mag Obst, z. B. Äpfel … und Eis.", "„Wirklich?“", "Ja!")
    ]
    long = kt.Document("word " * 1000).sentences
    assert max(map(len, long)) <= 800 and "5 % -- 3" not in kt.Document("5 % -- 3").sentences


REFUSED = {
    "no time": ("a.srt", b"1\n00:00:01,0 --> 00:00:02,0\nHi\n\n2\nx\n", "line 6 of a.srt must"),
    "its end": ("a.srt", b"1\n", "line 2 of "),
    "a tag": ("a.html", b"<p>\n<b class='", "line 2 of a.html has a tag or comment that do"),
    "a comment": ("a.html", b"\n\n<!-- x", "line 3 of a.html has a tag or comment"),
    "a script": ("a.htm", b"<script>x</scrip>", "line 1 of a.htm has <script> without </script>"),
    "Latin-1": ("a.md", b"a\n\xfc\n", "line 2 of a.md is not UTF-8"),
    "binary": ("a.txt", b"\x89PNG\r\n\x1a\n\0\0", "line 1 of a.txt is not UTF-8"),
    "UTF-16": ("a.txt", "a\n".encode("utf-16"), "a.txt looks like UTF-16"),
    "a huge line": ("a.html", b"\n" + b"x" * 100_001, "line 2 of a.html must have at most 100,000"),
    "another kind": ("a.docx", b"", "must be a file of the kind .txt, .md, .markdown, .srt, .html"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), REFUSED.values(), ids=REFUSED)
def test_damaged_documents_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ValueError, OSError), match=re.escape(message)) as refused:
        kt.Document.read(tmp_path / name)
    assert "\n" not in str(refused.value)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="`language` must be a code"):
        kt.Document("a", language="German, please")
    with pytest.raises(ValueError, match=f"kind={'docx'!r}"):
        kt.Document("a", "docx")
    with pytest.raises(ValueError, match=r"each of the 2 sentences. Received: 1 translations"):
        kt.Document("One. Two.").translated(["x"])
    assert set(PARSERS) == set(DOCUMENTS)
