"""Short and full forms of English: "I'm cold", "I am cold", "it isn't cold", "it is not cold"."""

import re

_SHORT = (
    (r"\b(I) am (?=\w)", r"\1'm "),
    (r"\b(you|we|they) are (?=\w)", r"\1're "),
    (r"\b(he|she|it|that|there|what|where|how|who) is (?=\w)", r"\1's "),
    (r"(?<!and )\b(I|you|he|she|we|they) will (?=\w)", r"\1'll "),
    (r"(?<!and )\b(I|you|he|she|we|they) would like", r"\1'd like"),
    (r"\b(I|you|we|they) have been", r"\1've been"),
)
_LONG = ((r"\bcan't\b", "cannot"), (r"\bwon't\b", "will not"), (r"n't\b", " not"))
# "Is it cold?" and "What is he doing?" have no short form, nor has "I know where he is today".
_UNFIT = re.compile(
    r"\b(is|are|was|were|do|does|did|can|will) (you|we|they|he|she|it|there|that)\b"
    r"|\w (what|where|how|who|when) ",
    re.IGNORECASE,
)


def shortened(english):
    """A sentence with its short forms: "I am cold" as "I'm cold"."""
    if _UNFIT.search(english):
        return english
    for full, short in _SHORT:
        english = re.sub(full, short, english, flags=re.IGNORECASE)
    return english


def lengthened(english):
    """A sentence without "n't": "it isn't cold" as "it is not cold"; a question keeps it."""
    if english.endswith("?"):
        return english
    for short, full in _LONG:
        english = re.sub(short, full, english, flags=re.IGNORECASE)
    return english[0].upper() + english[1:]


def rephrased(draw, english, full=0.3, short=0.4):
    """A sentence, perhaps in its full and perhaps in its short form: "it's not cold"."""
    if draw.chance(full):
        english = lengthened(english)
    return shortened(english) if draw.chance(short) else english
