"""Bounded reading of files that may come from untrusted sources."""

import json
import reprlib
import stat
from pathlib import Path

_MAX_DEPTH = 50  # of nested lists and objects in JSON
_MAX_JSON = 1 << 26  # bytes; the largest honest file, a vocabulary of 250,000 tokens, has 20 MB
_EXCERPT = 200  # characters

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = _EXCERPT
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxdict = 20
_SHORT.maxlevel = 3


def excerpt(value):
    """Returns the representation of a value for a message, at most some 200 characters long.

    Example:
        >>> len(excerpt(list(range(10**6)))) < 210
        True
    """
    text = _SHORT.repr(value)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"


def shorten(text, length=2000):
    """Returns a message, cut if it is longer than `length` characters."""
    return text if len(text) <= length else f"{text[:length]}…"


def check_regular(path, max_bytes=None):
    """Raises a ValueError unless a path is a regular file of limited size.

    A pipe could block forever, and a device such as `/dev/zero` never ends.

    Args:
        path: path of an existing file.
        max_bytes: maximum size; None for no limit.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if it is a folder, pipe or device, or too large.
    """
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path} must be a regular file. Received: a folder, pipe or device")
    if max_bytes is not None and status.st_size > max_bytes:
        raise ValueError(
            f"{path} must have at most {max_bytes:,} bytes. Received: {status.st_size:,} bytes"
        )


def read_text(path, max_bytes=_MAX_JSON):
    """Reads a UTF-8 text file of limited size.

    Args:
        path: path of the file.
        max_bytes: maximum size.

    Returns:
        The text.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if it is not a regular file, is too large or is not UTF-8.
    """
    check_regular(path, max_bytes)
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be in UTF-8: {error}. Received: {path}") from None


def read_json(path, kind=dict, max_bytes=_MAX_JSON):
    """Reads a JSON file of limited size and depth.

    Args:
        path: path of the file.
        kind: type of the content, `dict` or `list`.
        max_bytes: maximum size.

    Returns:
        The content.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if it is not a regular file, is too large, is not JSON, is nested too deeply, or
            has content of another type.
    """
    content = parse_json(read_text(path, max_bytes), path)
    if not isinstance(content, kind):
        name = "object" if kind is dict else "list"
        raise ValueError(f"{path} must contain a JSON {name}. Received: {excerpt(content)}")
    return content


def parse_json(text, name):
    """Parses JSON text of limited depth.

    Args:
        text: the JSON text.
        name: what contains the text, for the message of an error.

    Returns:
        The content.

    Raises:
        ValueError: if the text is not JSON or is nested too deeply.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{name} is not valid JSON: {error}. Received: {name}") from None
    except RecursionError:
        content = None  # nested deeper than Python's stack
        depth = _MAX_DEPTH + 1
    else:
        depth = _depth(content)
    if depth > _MAX_DEPTH:
        raise ValueError(
            f"{name} must have at most {_MAX_DEPTH} nested lists and objects. Received: more"
        )
    return content


def _depth(content):
    """Returns the depth of nested lists and objects, up to one more than the maximum."""
    level, depth = [content], 0
    while level and depth <= _MAX_DEPTH:
        level = [
            child
            for parent in level
            if isinstance(parent, (dict, list))
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
        depth += 1
    return depth
