"""Checks of notebooks 09 to 11: vision transformer, BERT and language models."""

import numpy as np

from exercises.numbers import Numbers
from keras_transformer.build_it.checking import (
    Wrong,
    call,
    call_for_numbers,
    compare,
    numbers,
    reject_dots,
    several,
)

_MASK, _VOCAB_SIZE, _FIRST_WORD = 4, 1000, 5


def _exchanged(answer):
    found = numbers(answer, (3,)).astype(bool).tolist()
    if not found[0]:
        raise Wrong("a: the pixels move, but the vectors of the positions stay where they are.")
    if found[1]:
        raise Wrong("b: to self-attention the patches are a bag of vectors. See solution 2 above.")
    if not found[2]:
        raise Wrong("c: the head reads the first vector, and that is now the one of a patch.")


def _cut(images, size):
    batch, height, width, channels = images.shape
    grid = images.reshape(batch, height // size, size, width // size, size, channels)
    return grid.transpose(0, 1, 3, 2, 4, 5).reshape(batch, -1, size * size * channels)


def _to_patches(function):
    images = np.arange(2 * 4 * 6 * 3.0).reshape(2, 4, 6, 3)
    right = _cut(images, 2)
    found = call_for_numbers(function, images, 2, shape=(2, 6, 12))
    grid = images.reshape(2, 2, 2, 3, 2, 3)
    compare(
        found,
        right,
        "Cut both sides with one reshape to six axes, bring the axes of a patch together, reshape.",
        (
            images.reshape(2, 6, 12),
            "Reshape alone cuts rows of pixels: a patch must have pixels of two rows. Transpose.",
        ),
        (
            grid.transpose(0, 3, 1, 2, 4, 5).reshape(2, 6, 12),
            "The patches are in columns: they are read row by row, like text.",
        ),
        (
            grid.transpose(0, 1, 3, 5, 2, 4).reshape(2, 6, 12),
            "The channels of a pixel stay together: they are the last axis.",
        ),
        (
            grid.transpose(0, 1, 3, 4, 2, 5).reshape(2, 6, 12),
            "Within a patch, the pixels are read row by row, too.",
        ),
    )


def _from_patches(function):
    images = np.arange(2 * 4 * 6 * 3.0).reshape(2, 4, 6, 3)
    rows = _cut(images, 2)
    found = call_for_numbers(function, rows, 4, 6, 2, shape=(2, 4, 6, 3))
    compare(
        found,
        images,
        "Undo the steps of exercise 9.4 in reverse: which transpose undoes (0, 1, 3, 2, 4, 5)?",
        (
            rows.reshape(2, 4, 6, 3),
            "Reshape alone puts the pixels of a patch in one row. Transpose.",
        ),
    )


def _word_pieces(answer):
    reject_dots(answer)
    if not isinstance(answer, list | tuple) or not all(isinstance(x, str) for x in answer):
        raise Wrong('Write a list of texts, such as ["un", "##a"].')
    _compare_pieces(
        list(answer),
        ["una", "##ffa", "##ble"],
        "unaffable",
        ["un", "una", "##a", "##aff", "##ffa", "##able", "##ble", "##le", "##b"],
    )


def _compare_pieces(found, right, word, vocabulary):
    if found == right:
        return
    joined = "".join(piece.removeprefix("##") for piece in found)
    if joined != word and found != ["[UNK]"]:
        raise Wrong(f"The pieces {found} do not spell {word}, but {joined or 'nothing'}.")
    if right == ["[UNK]"]:
        raise Wrong(f'{word} cannot be spelled to its end, so it is ["[UNK]"], not {found}.')
    if found == ["[UNK]"]:
        raise Wrong(f"{word} is not unknown: it can be spelled with the longest pieces.")
    if not all(piece.startswith("##") for piece in found[1:]) or found[0].startswith("##"):
        raise Wrong(
            f"In {found}, all pieces but the first must begin with ##, which continues a word."
        )
    if missing := [piece for piece in found if piece not in vocabulary]:
        raise Wrong(f"{missing[0]} is not in the vocabulary.")
    raise Wrong(
        f"{found} does spell {word}, but at each place the longest possible piece is taken, from "
        "left to right."
    )


def _pieces(function):
    vocabulary = [
        "un",
        "una",
        "##a",
        "##aff",
        "##ffa",
        "##able",
        "##ble",
        "##b",
        "read",
        "##e",
        "a",
    ]
    rights = {
        "read": ["read"],
        "unaffable": ["una", "##ffa", "##ble"],
        "readable": ["read", "##able"],
        "una": ["una"],
        "unread": ["[UNK]"],
        "reader": ["[UNK]"],
        "aa": ["a", "##a"],
    }
    for word, right in rights.items():
        found = call(function, word, vocabulary)
        if not isinstance(found, list | tuple) or not all(isinstance(x, str) for x in found):
            raise Wrong(f"The pieces of {word} must be a list of texts. Received: {found!r}")
        _compare_pieces(list(found), right, word, vocabulary)


def _hide(function):
    random = np.random.default_rng(0)
    ids = random.integers(_FIRST_WORD, _VOCAB_SIZE, size=(200, 100))
    ids[:, 0], ids[:, 60], ids[:, 90:] = 2, 3, 0
    found = call(function, ids, np.random.default_rng(1))
    changed, chosen = several(found, ("the ids with gaps", "what was chosen"))
    changed, chosen = (numbers(part, ids.shape) for part in (changed, chosen))
    chosen = chosen.astype(bool)
    is_word = ids >= _FIRST_WORD
    if (chosen & ~is_word).any():
        raise Wrong("Some special tokens were chosen: ids below 5 are not to be guessed.")
    if (changed != ids)[~chosen].any():
        raise Wrong("Some tokens were changed that were not chosen.")
    share = chosen.sum() / is_word.sum()
    if abs(share - 0.15) > 0.015:
        raise Wrong(f"{share:.1%} of the words were chosen. It should be 15%.")
    new, old = changed[chosen], ids[chosen]
    masked, same = np.mean(new == _MASK), np.mean(new == old)
    other = new[(new != _MASK) & (new != old)]
    _compare_share(masked, 0.8, "become [MASK]")
    _compare_share(same, 0.1, "stay as they are")
    if other.min() < _FIRST_WORD or other.max() >= _VOCAB_SIZE:
        raise Wrong(
            "A random token must be a word, from 5 to 999. Yours reach from "
            f"{other.min():.0f} to {other.max():.0f}."
        )
    if len(np.unique(other)) < 100:
        raise Wrong("The random tokens are the same one in many places. Draw one for each place.")


def _compare_share(share, right, text):
    if abs(share - right) > 0.03:
        raise Wrong(
            f"Of the chosen tokens, {share:.0%} {text}. It should be {right:.0%}: draw one number "
            "for each token, and compare it with 0.8 and with 0.9."
        )


def _top_k(function):
    logits = np.array([2.0, -1.0, 0.5, 3.0, 1.0])
    everything = np.exp(logits) / np.exp(logits).sum()
    for k in (2, 3, 5, 1):
        kept = logits >= np.sort(logits)[-k]
        right = np.where(kept, everything, 0) / everything[kept].sum()
        zeroed = np.exp(np.where(kept, logits, 0))
        smallest = np.where(logits <= np.sort(logits)[k - 1], everything, 0)
        compare(
            call_for_numbers(function, logits, k, shape=(5,)),
            right,
            f"For k = {k}: the probabilities of the {k} largest logits sum to 1, the others are 0.",
            (everything, f"For k = {k}: nothing was cut off."),
            (np.where(kept, everything, 0), "The rest is cut off, but what is left must sum to 1."),
            (zeroed / zeroed.sum(), "A logit of 0 is not impossible: exp(0) is 1. Use -np.inf."),
            (smallest / smallest.sum(), "Those are the k smallest logits."),
        )
    before = np.array([3.0, 1.0, 2.0])
    compare(
        call_for_numbers(lambda x: function(1000 * x, 2), before, shape=(3,)),
        np.array([1.0, 0, 0]),
        "Right for small logits, but not for those of 3000, whose exponential is infinite.",
    )


def _bigrams(function):
    sentences, words = [[1, 2, 3], [1, 2, 2, 3], [0, 1]], 4
    counts = np.zeros((words, words))
    for sentence in sentences:
        np.add.at(counts, (sentence[:-1], sentence[1:]), 1)
    joined = np.zeros((words, words))
    flat = [word for sentence in sentences for word in sentence]
    np.add.at(joined, (flat[:-1], flat[1:]), 1)

    def shares(x):
        return x / x.sum(axis=1, keepdims=True)

    found = call_for_numbers(function, sentences, words, finite=False)
    if found.shape != (words, words):
        raise Wrong(f"Expected a row and a column for each of {words} words, not {found.shape}.")
    if np.isnan(found).any():
        raise Wrong(
            "Word 3 is never followed by a word, and 0 / 0 is NaN. Begin each count with 1."
        )
    compare(
        found,
        shares(counts + 1),
        "Row i, column j: one more than the number of times that j follows i, divided by the row's "
        "sum.",
        (shares(counts + 1).T, "The word before is the row, the word after it the column."),
        (shares(counts.T + 1), "The word before is the row, the word after it the column."),
        (counts + 1, "Those are counts. Divide each row by its sum."),
        (
            (counts + 1) / (counts + 1).sum(),
            "All of it sums to 1. Each row must: the word before is known.",
        ),
        (
            shares(joined + 1),
            "The first word of a sentence does not follow the last one before it.",
        ),
    )


CHECKS = {
    "9.1": Numbers(
        [65, 48],
        "How many squares of 4 × 4 are in 32 × 32, and how many numbers has a pixel?",
        ([64, 48], "One token has no pixels: the class token."),
        ([65, 16], "A pixel has three numbers, one for each color."),
        ([64, 16], "Do not forget the class token, nor that a pixel has three numbers."),
        ([9, 48], "There are 8 patches in a row and in a column."),
    ),
    "9.2": _exchanged,
    "9.3": Numbers(
        48 * 64 + 64 + 64 + 65 * 64,
        "Four parts: the matrix E, its bias, the class token, and a vector for each position.",
        (
            48 * 64 + 64 + 65 * 64,
            "One vector of 64 is missing: the bias, the class token or its position.",
        ),
        (
            48 * 64 + 65 * 64,
            "Two vectors of 64 are missing, of the bias, the class token and its position.",
        ),
        (16 * 64 + 64 + 64 + 65 * 64, "A patch has 48 numbers: there are three colors."),
    ),
    "9.4": _to_patches,
    "9.5": _from_patches,
    "10.1": Numbers(
        [120, 15, 15],
        "First 15% of 1,000 tokens, then 80%, 10% and 10% of these.",
        ([800, 100, 100], "Only 15% of the tokens are chosen. The shares are shares of these."),
        ([80, 10, 10], "Those are percent. Asked are tokens."),
    ),
    "10.2": _word_pieces,
    "10.3": Numbers(
        [1, 2],
        "Multiply each start with each end that is not before it, and take the largest product.",
        ([1, 0], "This answer would end before it begins."),
        ([2, 1], "The start comes first. And an answer must not end before it begins."),
        ([0, 0], "0.1 · 0.5 is not the largest product."),
    ),
    "10.4": _pieces,
    "10.5": _hide,
    "11.1": Numbers(
        4,
        "The mean of -ln p over the words, and then its exponential.",
        (
            14 / 3,
            "This is the mean of 2, 4 and 8. The logarithms are averaged, not their inverses.",
        ),
        (24 / 7, "The logarithms are averaged, not the probabilities."),
        (np.log(4), "This is the mean cross entropy. The perplexity is its exponential."),
        (
            64,
            "This is the inverse of the text's probability. Perplexity is per word: a third root.",
        ),
    ),
    "11.2": Numbers(
        [0.2, 0.8],
        "Divide the logits, here the logarithms of the probabilities, by T, and take the softmax.",
        ([1 / 3, 2 / 3], "A temperature of 0.5 does change them."),
        (
            np.array([1, 2**0.5]) / (1 + 2**0.5),
            "The logits are divided by T = 0.5, not multiplied: below 1 the probable gets more so.",
        ),
        ([2 / 3, 4 / 3], "Those do not sum to 1: T divides the logits, before the softmax."),
    ),
    "11.3": Numbers(
        [5 / 9, 2.5 / 9, 1.5 / 9, 0],
        "Add up from the most probable word until the sum has reached 0.8. The rest gets 0.",
        ([0.5, 0.25, 0.15, 0], "The rest is cut off, but what is left must sum to 1."),
        ([2 / 3, 1 / 3, 0, 0], "Two words have 0.75 together, which is less than 0.8."),
        ([0.5, 0.25, 0.15, 0.1], "Nothing was cut off."),
    ),
    "11.4": Numbers(
        2**30,
        "Multiply: layers, heads, size of a head, words, keys and values, bytes per number.",
        (2**29, "Keys and values are both kept, and a number has two bytes."),
        (2**28, "Keys and values are both kept, and a number has two bytes."),
        (1, "The answer is in bytes."),
    ),
    "11.5": _top_k,
    "11.6": _bigrams,
}
