"""Cleaning of sentences for small vocabularies: case, punctuation, accents."""

import unicodedata

from keras_transformer._utils.reading import excerpt

# Cleaning that removes more than this share of the letters of one side is refused.
_MAX_LOSS = 0.5

# Variants of one character would each need a vocabulary entry. An en dash gets no spaces, because
# it also joins numbers (1990–2000); an em dash always separates words.
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("‘’‚‛‹›´", "'")
    | dict.fromkeys("“”„‟«»", '"')
    | dict.fromkeys("‐‑‒–−", "-")
    | dict.fromkeys("—―", " - ")
    | dict.fromkeys("\u00ad\u200b\u2060\ufeff")  # soft hyphen and zero-width spaces: removed
    | {"…": "..."}
)


def clean(
    sentence: str,
    keep_case: bool = False,
    keep_punctuation: bool = False,
    keep_letters: bool = False,
) -> str:
    """Cleans a sentence, by default to lowercase ASCII letters and single spaces.

    The default follows the published English-German data set, so that results are comparable with
    those published for it. Accents are removed (ü -> u), and so is every other character outside
    ASCII (ß, typographic quotes, no-break spaces). Words are separated by white space. Punctuation
    within a word is removed (don't -> dont, ex-con -> excon). A word that still has a digit after
    that (6:30, MP3-Player) is removed as a whole.

    For German, keep case and letters: uppercase marks nouns (die Reise / reise!), and umlauts and ß
    distinguish words (schon / schön, Masse / Maße). Languages that are not written in Latin letters
    lose everything otherwise. A model cannot restore what is removed here.
    With `keep_punctuation` or `keep_letters`, typographic quotes, apostrophes and dashes are
    replaced by their ASCII forms first, white space becomes spaces, and zero-width characters are
    removed. Clean references in the same way before comparing translations with them.

    Args:
        sentence: a text.
        keep_case: whether to keep uppercase letters.
        keep_punctuation: whether to keep punctuation and words with digits.
        keep_letters: whether to keep letters outside ASCII (ü, ß, Cyrillic, Chinese …), in
            Unicode's composed form (NFC).

    Returns:
        The cleaned text, possibly empty. Cleaning it again does not change it.
    """
    if keep_punctuation or keep_letters:
        sentence = unicodedata.normalize("NFC", sentence).translate(_TYPOGRAPHY)
    if not keep_case:
        sentence = sentence.lower()
    if not keep_letters:
        sentence = unicodedata.normalize("NFD", sentence).encode("ascii", "ignore").decode("ascii")
    words = sentence.split()
    if not keep_punctuation:
        words = [_remove_punctuation(word) for word in words]
    return unicodedata.normalize("NFC", " ".join(word for word in words if word))


def clean_pairs(
    pairs: list[tuple[str, str]],
    keep_case: bool = False,
    keep_punctuation: bool = False,
    keep_letters: bool = False,
) -> list[tuple[str, str]]:
    """Cleans both sides of every pair and drops the pairs with an empty side.

    Duplicates are kept, as in the published data set: the frequency of a sentence is part of the
    data, and a split by source sentence puts all duplicates into the same part.

    Args:
        pairs: iterable of (source, target) texts.
        keep_case: see `clean`.
        keep_punctuation: see `clean`.
        keep_letters: see `clean`.

    Returns:
        List of (source, target) texts, in the given order.

    Raises:
        ValueError: if cleaning would remove most letters of the sources or of the targets.

    Example:
        >>> clean_pairs([("Good morning!", "Guten Morgen!"), ("Hi!", "Grüß Gott!")])
        [('good morning', 'guten morgen'), ('hi', 'gru gott')]
    """
    keep = (keep_case, keep_punctuation, keep_letters)
    pairs = list(pairs)
    cleaned = [(clean(source, *keep), clean(target, *keep)) for source, target in pairs]
    for i, side in enumerate(("source", "target")):
        _check_loss(side, [x[i] for x in pairs], [x[i] for x in cleaned], keep_letters)
    return [pair for pair in cleaned if all(pair)]


def _check_loss(side, before, after, keep_letters):
    """Raises a ValueError if cleaning has removed most letters of one side."""
    letters = _count_letters(before)
    loss = 1 - _count_letters(after) / letters if letters else 0
    if loss > _MAX_LOSS:
        option = "keep_punctuation" if keep_letters else "keep_letters"
        raise ValueError(
            f"Cleaning would remove {loss:.0%} of the letters of the {side} sentences: keep them "
            f"with {option}=True (--{option.replace('_', '-')}). Received: {excerpt(before[0])}"
        )


def _count_letters(texts):
    return sum(character.isalpha() for text in texts for character in text)


def _remove_punctuation(word):
    """Returns the word without punctuation, or an empty string if it has a digit."""
    # The first letter of a Unicode category: L letter, M mark on a letter, N number.
    categories = [unicodedata.category(character)[0] for character in word]
    if "N" in categories:
        return ""
    return "".join(c for c, category in zip(word, categories, strict=True) if category in "LM")
