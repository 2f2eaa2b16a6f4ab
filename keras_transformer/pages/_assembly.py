"""Assembles a self-contained HTML page from the files of this package."""

import base64
import hashlib
import json
import re
from importlib import resources

# Prevents a token such as "</script>" from ending the script element that contains the data.
# Unpaired surrogates cannot be written to a file.
_ESCAPES = {i: f"\\u{i:04x}" for i in (*map(ord, "<>&\u2028\u2029"), *range(0xD800, 0xE000))}


def read_parts(*names):
    """Returns the text of some files of this package, one after the other.

    Args:
        *names: paths below the folder of the package, such as "drawing.js".
    """
    folder = resources.files("keras_transformer.pages")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


def fill(template, **parts):
    """Replaces each line or word `$name` in a template by the text of that name.

    All other dollar signs stay, also those of the texts.
    """
    names = "|".join(parts)
    return re.sub(rf"\$({names})\b", lambda match: parts[match[1]], template)


def to_json(data):
    """Returns data as JSON that is safe inside a script element."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).translate(_ESCAPES)


def content_hash(text):
    """Returns the source expression with which a content-security policy admits a text."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
