"""Sentence pairs in translation memories (TMX) and in zip archives."""

import contextlib
import lzma
import re
import struct
import zipfile
import zlib
from pathlib import PurePosixPath
from xml.etree.ElementTree import ParseError

from defusedxml.ElementTree import iterparse  # type: ignore[import-untyped]

from keras_transformer._utils.reading import excerpt
from keras_transformer.data.limits import limited_chunks

# Formatting codes of TMX 1.4, whose content is no text.
_CODES = ("bpt", "ept", "it", "ph", "ut")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_MAX_DIRECTORY = 1 << 20  # bytes of the list of the files in a zip archive
_CODE = re.compile("[a-z]{2,3}([-_][A-Za-z]{2,4})?")  # of a language
# Errors of `zipfile` and of what it decompresses with.
_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError)
# What archives have beside the texts of a language, by suffix.
_NO_LANGUAGE = ("ids", "txt", "xml", "md", "pkl", "tmx", "tsv", "csv", "gz")


def tmx_pairs(chunks, name, limits, columns=None):
    """Returns the pairs of a translation memory, which is read unit by unit.

    Entities are refused. A document type may be named, but nothing of it is read.

    Args:
        chunks: iterable of the bytes of the file.
        name: name of the file for messages.
        limits: the `Limits`.
        columns: languages of the source and the target, such as "en", which is also "en-US"; None
            for the source language that the file names, or else the order of the first unit.

    Raises:
        ValueError: if the file is damaged, has entities, or a unit is too long.
    """
    file, pairs, header, opened, units = _UnitFile(chunks, name, limits), [], None, [], 0
    languages = columns
    try:
        for event, element in iterparse(file, events=("start", "end"), forbid_entities=True):
            tag = element.tag.rpartition("}")[2]
            if event == "start":
                opened.append(element)
                header = element.get("srclang") if tag == "header" else header
                continue
            opened.pop()
            if tag == "tu":
                file.begin_unit()
                units += 1
                limits.check_lines(units, name)
                texts = _texts(element)
                if opened:
                    opened[-1].clear()  # otherwise it would keep all units
                languages = languages or _languages(texts, header)
                pair = languages and [_in_language(texts, x) for x in languages]
                if pair and None not in pair:
                    pairs.append(tuple(pair))
                    limits.check_line(max(map(len, pair)), f"unit {len(pairs)} of {name}")
    except ParseError as error:
        raise ValueError(f"{name} is not valid XML; export it again. Received: {error}") from error
    if not pairs and columns:
        raise ValueError(f"no unit of {name} has the languages {columns[0]} and {columns[1]}")
    return pairs


class _UnitFile:
    """A file that refuses to be read on if a unit has not ended after a whole line's bytes."""

    def __init__(self, chunks, name, limits):
        self._chunks, self._name, self._limits = iter(chunks), name, limits
        self.begin_unit()

    def begin_unit(self):
        self._size = 0

    def read(self, _):
        chunk = next(self._chunks, b"")
        # Two texts with formatting codes, and whole chunks.
        self._limits.check_line_bytes(self._size // 8, f"each unit of {self._name}")
        self._size += len(chunk)
        return chunk


def _texts(unit):
    """Returns the texts of a unit by language."""
    texts = {}
    for variant in unit.iter():
        if variant.tag.rpartition("}")[2] != "tuv":
            continue
        language = variant.get(_LANGUAGE) or variant.get("lang") or ""
        segment = next((x for x in variant if x.tag.rpartition("}")[2] == "seg"), None)
        if segment is not None:
            for code in list(segment.iter()):
                if code.tag.rpartition("}")[2] in _CODES:
                    tail = code.tail
                    code.clear()
                    code.tail = tail
            texts.setdefault(language.lower(), " ".join("".join(segment.itertext()).split()))
    return texts


def _languages(texts, source):
    names = list(texts)
    if len(names) < 2:
        return None
    first = next((x for x in names if source and _is_language(x, source.lower())), names[0])
    return first, next(x for x in names if x != first)


def _in_language(texts, language):
    return next((x for name, x in texts.items() if _is_language(name, language.lower())), None)


def _is_language(name, language):
    return name == language or re.split("[-_]", name)[0] == language


@contextlib.contextmanager
def opened_zip(path, limits):
    """Opens a zip archive whose list of files is limited.

    Yields:
        Function from the name of a member to an iterator of its bytes, and the list of the names.

    Raises:
        ValueError: here or while reading, if the archive is damaged, encrypted or beyond a limit.
    """
    limits.check_bytes(path.stat().st_size, path.name)
    _check_directory(path)
    try:
        with zipfile.ZipFile(path) as archive, contextlib.ExitStack() as stack:

            def chunks(name):
                file = stack.enter_context(archive.open(name))
                return limited_chunks(file.read, name, limits)

            yield chunks, archive.namelist()
    except _DAMAGED as error:
        raise ValueError(
            f"expected a zip archive without a password; download it again. Received: {path.name} "
            f"({error})"
        ) from error


def _check_directory(path):
    """Raises a ValueError if the list of files could take much memory, before it is read."""
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - (1 << 16) - 64))
        end = file.read()
    # The last record of an archive, as `zipfile` finds it: at the end, or before a comment.
    is_last = end[-22:-18] == b"PK\5\6" and end[-2:] == b"\0\0"
    start = len(end) - 22 if is_last else end.rfind(b"PK\5\6")
    if start < 0 or len(end) < start + 22:
        return  # no archive, which `zipfile` says
    [size] = struct.unpack("<I", end[start + 12 : start + 16])
    if size > _MAX_DIRECTORY or b"PK\6\7" in end[:start]:
        raise ValueError(
            f"{path.name} has too many files, or is larger than 4 GiB: unpack it and give the two "
            f"text files. Received: a list of {size:,} bytes"
        )


def parallel_members(names, columns=None):
    """Returns the members with the sentences of the two languages, named as OPUS and Moses do.

    Args:
        names: names of the members, such as Books.de-en.de and Books.de-en.en.
        columns: languages of the source and the target; None for those of the archive, if it has
            only two, in its order.

    Returns:
        Two names; None if the archive has no such members.

    Raises:
        ValueError: if it has several such pairs.
    """
    groups: dict[str, dict[str, str]] = {}
    columns = columns and [x.lower() for x in columns]
    for name in names:
        stem, dot, language = name.rpartition(".")
        if dot and _CODE.fullmatch(language) and language not in _NO_LANGUAGE:
            groups.setdefault(stem, {})[language.lower()] = name
    found = [
        [group[x] for x in columns or group]
        for group in groups.values()
        if (set(columns) <= set(group) if columns else len(group) == 2)
    ]
    if len(found) > 1 or (not columns and not found and any(len(x) > 2 for x in groups.values())):
        raise ValueError(
            "the archive has several pairs of texts: name two languages as `columns` (--columns), "
            f"or unpack it. Received: {excerpt(names)}"
        )
    return found[0] if found else None


def only_member(names, suffixes):
    """Returns the only member with one of the suffixes whose name begins with a letter or digit.

    Raises:
        ValueError: if there is none, or there are several.
    """
    paths = [PurePosixPath(name) for name in names]
    found = [x for x in paths if x.suffix.lower() in suffixes and x.name[:1].isalnum()]
    found = [x for x in found if x.stem.lower() not in ("readme", "license")]
    if len(found) != 1:
        raise ValueError(
            "the archive must have one file of pairs, or two parallel texts that end in their "
            "languages, such as .de and .en, which are those of `columns` (--columns) if given. "
            f"Received: {excerpt(names)}"
        )
    return str(found[0])
