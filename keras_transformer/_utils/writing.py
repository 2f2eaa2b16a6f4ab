"""Detection of writing systems without spaces between words."""

import itertools
import re

# Thai, Lao, Tibetan and Burmese; Khmer; kana; Chinese characters.
_RUN = re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]+")
# Words of these languages have 1.5 to 3 characters on average, whole clauses more.
_LONGEST_WORDS = 3
_ENOUGH = 10_000  # sentences


def is_unsegmented(sentences):
    """Returns whether most of the text is written without spaces between words, such as Chinese.

    Args:
        sentences: iterable of sentences, of which the first 10,000 are examined.
    """
    letters = runs = characters = 0
    for sentence in itertools.islice(sentences, _ENOUGH):
        found = _RUN.findall(sentence)
        runs += len(found)
        characters += sum(map(len, found))
        letters += sum(map(str.isalpha, sentence))
    return characters > letters / 2 and characters > _LONGEST_WORDS * runs
