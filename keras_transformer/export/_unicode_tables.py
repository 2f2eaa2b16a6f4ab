"""Unicode tables for the graph of a SavedModel, computed with `tokenizers`.

Libraries differ in their Unicode version. The graph must use the version of the tokenizer, so the
tables are read off from `tokenizers` itself.
"""

import itertools

from tokenizers import Regex, normalizers

# Unicode has no letters, marks or spaces elsewhere. NUL is left out because it is the separator in
# `_normalize_all`.
_CHARACTERS = [
    chr(i) for i in (*range(1, 0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xE1000))
]
_LAST_MARK = "\u0345"  # has the highest combining class


def character_map(normalizer):
    """Returns the characters that a normalizer changes.

    Args:
        normalizer: a `tokenizers.normalizers.Normalizer`.

    Returns:
        A dictionary from each changed character to its replacement, a string.
    """
    return {c: normal for c, normal in _normalize_all(normalizer) if normal != c}


def combining_order():
    """Returns the order in which canonical ordering (NFD) sorts combining marks.

    Returns:
        A dictionary from each mark to the rank of its combining class, counted from 1.
    """
    nfd = normalizers.NFD()
    found = [c for c, normal in _normalize_all(nfd, _LAST_MARK) if normal == c + _LAST_MARK]
    marks = nfd.normalize_str("".join([*found, _LAST_MARK]))
    # Two neighbors are swapped back if and only if their combining classes differ.
    differs = [nfd.normalize_str(b + a) == a + b for a, b in itertools.pairwise(marks)]
    return dict(zip(marks, itertools.accumulate(differs, initial=1), strict=True))


def compositions():
    """Returns the pairs of characters that NFC composes.

    Returns:
        A dictionary from strings of two characters to the composed characters.
    """
    nfc = normalizers.NFC()
    pairs = {}
    for c, parts in character_map(normalizers.NFD()).items():
        if len(parts) > 1 and nfc.normalize_str(parts) == c:
            pairs[nfc.normalize_str(parts[:-1]) + parts[-1]] = c
    return pairs


def class_members(name):
    r"""Returns the characters of a regular-expression class.

    Args:
        name: name of the class, such as `\w`.

    Returns:
        A string of character ranges in RE2 syntax, to be put between brackets.
    """
    others = normalizers.Replace(Regex(name), "").normalize_str("".join(_CHARACTERS))
    codes = sorted(map(ord, {*_CHARACTERS} - {*others}))
    ranges = itertools.groupby(enumerate(codes), lambda pair: pair[1] - pair[0])
    ranges = [[code for _, code in group] for _, group in ranges]
    return "".join(rf"\x{{{codes[0]:x}}}-\x{{{codes[-1]:x}}}" for codes in ranges)


def _normalize_all(normalizer, prefix=""):
    """Yields (c, normalized prefix + c) for all characters c."""
    text = normalizer.normalize_str("\0".join(prefix + c for c in _CHARACTERS))
    return zip(_CHARACTERS, text.split("\0"), strict=True)
