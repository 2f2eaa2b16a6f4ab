"""Cleaning of sentences: from what people write to what a small vocabulary can hold."""

import unicodedata

# Signs that look different and mean the same would cost a vocabulary entry each. An en dash stays
# tight, because it also joins numbers (1990–2000); an em dash always separates.
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("‘’‚‛‹›´", "'")
    | dict.fromkeys("“”„‟«»", '"')
    | dict.fromkeys("‐‑‒–−", "-")
    | dict.fromkeys("—―", " - ")
    | dict.fromkeys("\u00ad\u200b\u2060\ufeff")  # soft hyphen and spaces of no width: removed
    | {"…": "..."}
)


def clean(sentence, keep_case=False, keep_punctuation=False, keep_umlauts=False):
    """Cleans one sentence; by default down to lower-case ASCII letters and single spaces.

    The default is the rule of the published English-German set, so that figures can be compared
    with those made from it: accents are taken off (ü -> u), every other sign outside ASCII is
    dropped (ß, typographic quotes, also no-break spaces), words are what white space separates,
    punctuation disappears from within them (don't -> dont, ex-con -> excon), and a word that then
    holds a digit (6:30, MP3-Player) is dropped as a whole.

    Keeping is the better choice for German: capitals mark the nouns (die Reise / reise!), and
    umlauts and ß tell words apart (schon / schön, Masse / Maße); what is taken off here, no model
    can put back into its translation. With `keep_punctuation` or `keep_umlauts`, typographic
    quotes, apostrophes and dashes become their plain forms first, all white space counts as a
    space, and characters without width disappear. References must be cleaned the same way before
    a translation is compared with them.

    Args:
        sentence: text.
        keep_case: keep capitals.
        keep_punctuation: keep punctuation, and words with digits.
        keep_umlauts: keep every letter as it is, in Unicode's composed form (NFC).

    Returns:
        The cleaned text, which may be empty. Cleaning it again changes nothing.
    """
    if keep_punctuation or keep_umlauts:
        sentence = unicodedata.normalize("NFC", sentence).translate(_TYPOGRAPHY)
    if not keep_case:
        sentence = sentence.lower()
    if not keep_umlauts:
        sentence = unicodedata.normalize("NFD", sentence).encode("ascii", "ignore").decode("ascii")
    words = sentence.split()
    if not keep_punctuation:
        words = [_letters(word) for word in words]
    return unicodedata.normalize("NFC", " ".join(word for word in words if word))


def clean_pairs(pairs, keep_case=False, keep_punctuation=False, keep_umlauts=False):
    """Cleans both sides of every pair and drops the pairs of which a side is left empty.

    Pairs that have become equal all stay, as in the published set: how often a sentence occurs is
    part of the data, and a split by source sentence keeps repetitions on one side.

    Args:
        pairs: iterable of (source, target) texts.
        keep_case: see `clean`.
        keep_punctuation: see `clean`.
        keep_umlauts: see `clean`.

    Returns:
        List of (source, target) texts, in the order given.
    """
    keep = (keep_case, keep_punctuation, keep_umlauts)
    cleaned = ((clean(source, *keep), clean(target, *keep)) for source, target in pairs)
    return [pair for pair in cleaned if all(pair)]


def _letters(word):
    """The word without punctuation, or nothing if it holds a digit."""
    # The first letter of the category: L letter, M mark on a letter, N number.
    kinds = [unicodedata.category(character)[0] for character in word]
    if "N" in kinds:
        return ""
    return "".join(c for c, kind in zip(word, kinds, strict=True) if kind in "LM")
