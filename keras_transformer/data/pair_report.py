"""A report on sentence pairs before training, with warnings about what usually goes wrong."""

import math
import re
import statistics
import unicodedata
from collections import Counter

from keras_transformer._utils.writing import is_unsegmented

_MAX_TOKENS = 128  # longer pairs are dropped by default
_FREQUENT = 30  # words that are compared to recognize a language
_ENOUGH = 100  # pairs, from which statistics say something


def pair_report(pairs: list[tuple[str, str]]) -> list[str]:
    """Describes sentence pairs: their letters, lengths, duplicates and unknown words.

    Args:
        pairs: list of (source, target) texts, as `read_pairs` returns them.

    Returns:
        Lines of text; those that begin with "Warning: " name likely errors.

    Example:
        >>> print(pair_report([("Good morning!", "Guten Morgen!")] * 2)[-1])
        1 duplicate pairs, 0 pairs with an empty side, 0 with identical sides
    """
    full = [pair for pair in pairs if all(pair)]
    sides = [list(side) for side in zip(*full, strict=True)]
    empty, identical = len(pairs) - len(full), sum(x == y for x, y in full)
    duplicates = len(pairs) - len(set(pairs))
    shown = ((name, [pair[i] for pair in pairs]) for i, name in enumerate(("source", "target")))
    lines = [f"{name}: {_describe(texts)}; first: {texts[0][:60]!r}" for name, texts in shown]
    lines.append(
        f"{duplicates} duplicate pairs, {empty} pairs with an empty side, {identical} with "
        "identical sides"
    )
    if not full:
        return lines
    counts = [_lengths(side) for side in sides]
    if len(full) >= _ENOUGH:
        ratio = statistics.median(y / x for x, y in zip(*counts, strict=True))
        lines.append(f"target words per source word: {ratio:.2f} (median)")
        held_out = len(full) // 10
        shares = [_unknown_share(side[:held_out], side[held_out:]) for side in sides]
        lines.append(
            f"words of the first tenth that the rest does not have: {shares[0]:.1%} of the source, "
            f"{shares[1]:.1%} of the target"
        )
    return lines + [f"Warning: {text}" for text in _warnings(pairs, full, sides, counts)]


def _unknown_share(texts, others):
    """Returns the share of the words of some texts that the others do not have."""
    known = {word for text in others for word in _words(text)}
    found = [word in known for text in texts for word in _words(text)]
    return found.count(False) / max(1, len(found))


def _words(text):
    return re.findall(r"\w+", text.lower())


def _describe(texts):
    scripts: Counter[str] = Counter()
    for character, number in Counter("".join(texts)).items():
        if character.isalpha():
            scripts[unicodedata.name(character, "unnamed").split()[0].capitalize()] += number
    total = max(1, scripts.total())
    letters = ", ".join(f"{name} {n / total:.1%}" for name, n in scripts.most_common(3))
    return f"{sum(_lengths(texts)):,} words; letters: {letters or 'none'}"


def _lengths(texts):
    """Returns the numbers of words, or of characters in a language without spaces, at least 1."""
    whole = is_unsegmented(texts)
    return [max(1, len(text if whole else text.split())) for text in texts]


def _warnings(pairs, full, sides, counts):
    if len(full) < 0.95 * len(pairs):
        yield "more than a twentieth of the pairs have an empty side: check the columns."
    if sum(x == y for x, y in full) > 0.1 * len(full):
        yield "more than a tenth of the pairs have identical sides: they teach copying."
    if len(full) >= _ENOUGH and _common_words(*sides) > 0.5:
        yield "both sides seem to be in the same language: check the columns (--columns)."
    if len(full) >= _ENOUGH and _correlation(*counts) < 0.3:
        yield (
            "the lengths of the two sides hardly correlate: check that each line of one file is "
            "the translation of the same line of the other."
        )
    too_long = sum(max(lengths) > _MAX_TOKENS for lengths in zip(*counts, strict=True))
    if too_long > 0.05 * len(full):
        yield (
            f"{too_long / len(full):.0%} of the pairs are longer than {_MAX_TOKENS} words, the "
            "default of --max-length: split them into sentences, or they are dropped."
        )


def _common_words(sources, targets):
    """Returns the share of the most frequent words of the source that the target has, too."""
    source, target = (
        {word for word, _ in Counter(words).most_common(_FREQUENT) if word.isalpha()}
        for words in (" ".join(side).lower().split() for side in (sources, targets))
    )
    return len(source & target) / max(1, min(len(source), len(target)))


def _correlation(*counts):
    logarithms = [[math.log(number) for number in side] for side in counts]
    try:
        return statistics.correlation(*logarithms)
    except statistics.StatisticsError:  # all lengths are equal
        return 1.0
