"""Write the English-German corpus: `python data/make_corpus.py`.

The corpus is the pairs written by hand in `everyday.tsv` and the sentences of the patterns.
Each pattern is drawn with a seed made from its name, so that the same text comes out everywhere.
"""

import os
import random
import re
from itertools import islice
from pathlib import Path

import comparisons
import facts
import infinitives
import questions
import statements
import subordinate
import whereabouts
from parts import PATTERNS, Draw, Unsuitable

HERE = Path(__file__).resolve().parent
EVERYDAY = HERE / "everyday.tsv"
CORPUS = HERE / "english-german.tsv"
# Importing these modules fills PATTERNS.
MODULES = (
    statements,
    questions,
    subordinate,
    infinitives,
    whereabouts,
    comparisons,
    facts,
)

SEED = 2017
SHORTEST, LONGEST = 3, 12  # words of an English sentence
CANDIDATES = 4  # of these the one with the rarest word is kept
TRIES = 40  # draws made for these candidates at most
PATIENCE = 400  # draws without a new sentence after which a pattern is exhausted


def words_of(text):
    """The words of a text, in lower case and without punctuation."""
    return re.findall(r"[\w'-]+", text.lower())


def read_everyday(path=EVERYDAY):
    """The hand-written pairs."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [tuple(line.split("\t")) for line in lines if line]


def candidate(draw, function, taken):
    """One new sentence pair of a pattern, or None where the draw fails."""
    try:
        english, german = function(draw)
    except Unsuitable:
        return None
    fits = SHORTEST <= len(english.split()) <= LONGEST
    return (english, german) if fits and english not in taken else None


def rarity(pair, counts):
    """How often the rarest word of a pair has been used so far."""
    return min(counts.get(word, 0) for word in words_of(pair[0]))


def draw_pattern(name, function, quota, taken, counts):
    """Draw the sentences of a pattern, preferring words that are still rare."""
    draw, pairs, fruitless = Draw(f"{SEED} {name}"), [], 0
    while len(pairs) < quota and fruitless < PATIENCE:
        tries = (candidate(draw, function, taken) for _ in range(TRIES))
        drawn = list(islice((pair for pair in tries if pair), CANDIDATES))
        if not drawn:
            fruitless += 1
            continue
        best = min(drawn, key=lambda pair: rarity(pair, counts))
        taken.add(best[0])
        pairs.append(best)
        for word in words_of(best[0]):
            counts[word] = counts.get(word, 0) + 1
    return pairs


def make_by_pattern():
    """All pairs by pattern, the hand-written ones under "everyday"."""
    everyday = read_everyday()
    taken, counts = {english for english, _ in everyday}, {}
    by_pattern = {"everyday": everyday}
    for name, function, quota in sorted(PATTERNS):
        by_pattern[name] = draw_pattern(name, function, quota, taken, counts)
    return by_pattern


def make_text(by_pattern=None):
    """The text of the corpus: one pair to a line, in an order shuffled once and for all."""
    by_pattern = make_by_pattern() if by_pattern is None else by_pattern
    pairs = [pair for group in by_pattern.values() for pair in group]
    random.Random(SEED).shuffle(pairs)
    return "".join(f"{english}\t{german}\n" for english, german in pairs)


def write(path=CORPUS):
    """Write the corpus beside its place and put it there in one step."""
    temporary = path.with_suffix(".part")
    temporary.write_bytes(make_text().encode("utf-8"))
    os.replace(temporary, path)


if __name__ == "__main__":
    write()
