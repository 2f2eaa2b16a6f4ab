"""What a graph must know of Unicode, asked of `tokenizers`.

Every library follows another version of Unicode. The graph shall follow the one that the tokenizer
was trained with.
"""

import itertools

from tokenizers import Regex, normalizers

# Unicode has no letters, marks or spaces elsewhere. NUL is left out: it separates the answers.
_CHARACTERS = [
    chr(i) for i in (*range(1, 0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xE1000))
]
_LAST_MARK = "\u0345"  # in canonical order


def changes(normalizer):
    """What a normalizer makes of a character.

    Args:
        normalizer: a `tokenizers.normalizers.Normalizer`.

    Returns:
        A dictionary from the characters that change to strings.
    """
    return {c: answer for c, answer in _answers(normalizer, "") if answer != c}


def mark_order():
    """The canonical order of combining marks, in which those of a letter are sorted.

    Returns:
        A dictionary from marks to integers from 1 on; marks that do not pass each other have the
        same one.
    """
    nfd = normalizers.NFD()
    found = [c for c, answer in _answers(nfd, _LAST_MARK) if answer == c + _LAST_MARK]
    marks = nfd.normalize_str("".join([*found, _LAST_MARK]))
    passes = [nfd.normalize_str(b + a) == a + b for a, b in itertools.pairwise(marks)]
    return dict(zip(marks, itertools.accumulate(passes, initial=1), strict=True))


def compositions():
    """The pairs of characters that NFC makes one.

    Returns:
        A dictionary from strings of two characters to characters.
    """
    nfc = normalizers.NFC()
    pairs = {}
    for c, parts in changes(normalizers.NFD()).items():
        if len(parts) > 1 and nfc.normalize_str(parts) == c:
            pairs[nfc.normalize_str(parts[:-1]) + parts[-1]] = c
    return pairs


def members(name):
    r"""The characters of a class.

    Args:
        name: as regular expressions write it, such as `\w`.

    Returns:
        Ranges as RE2 writes them between brackets.
    """
    others = normalizers.Replace(Regex(name), "").normalize_str("".join(_CHARACTERS))
    codes = sorted(map(ord, {*_CHARACTERS} - {*others}))
    ranges = itertools.groupby(enumerate(codes), lambda pair: pair[1] - pair[0])
    ranges = [[code for _, code in group] for _, group in ranges]
    return "".join(rf"\x{{{codes[0]:x}}}-\x{{{codes[-1]:x}}}" for codes in ranges)


def _answers(normalizer, behind):
    """(character, answer) of each; `behind` is what it stands behind when asked."""
    text = normalizer.normalize_str("\0".join(behind + c for c in _CHARACTERS))
    return zip(_CHARACTERS, text.split("\0"), strict=True)
