"""Generates the English-German corpus: `python data/grammar/make_corpus.py`.

The corpus consists of the hand-written pairs in `everyday.tsv` and of sentences generated from
patterns. The random seed of each pattern derives from its name, so the output is reproducible.
"""

import os
import random
import re
from itertools import islice
from pathlib import Path

import combinations
import comparisons
import facts
import infinitives
import introductions
import joined
import lessons
import particles
import questions
import routines
import statements
import subordinate
import whereabouts
from contractions import rephrased
from parts import PATTERNS, Draw, Unsuitable

DATA = Path(__file__).resolve().parents[1]
EVERYDAY = DATA / "everyday.tsv"
# Sentences for tests, which the corpus leaves out.
HELD_OUT = [DATA / "first-sentences.tsv", DATA / "blind-sentences.tsv"]
CORPUS = DATA / "english-german.tsv"
# Importing these modules registers their patterns in PATTERNS.
MODULES = (
    statements,
    questions,
    subordinate,
    infinitives,
    whereabouts,
    introductions,
    lessons,
    particles,
    routines,
    comparisons,
    facts,
    combinations,
    joined,
)

SEED = 2017
SHORTEST, LONGEST = 3, 12  # words per English sentence
CANDIDATES = 4  # per sentence; the candidate with the rarest word is kept
TRIES = 40  # maximum number of draws to find these candidates
PATIENCE = 400  # number of failures after which a pattern counts as exhausted


def words_of(text):
    """Returns the words of a text, in lower case and without punctuation."""
    return re.findall(r"[\w'-]+", text.lower())


def key(english):
    """Returns what identifies a sentence: its words, whatever its punctuation."""
    return " ".join(words_of(english))


def read_pairs(path):
    """Returns the lines of a file of pairs."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [tuple(line.split("\t")) for line in lines if line]


def candidate(draw, function, taken):
    """Draws a new sentence pair from a pattern; returns None if the draw is unsuitable."""
    try:
        english, german = function(draw)
    except Unsuitable:
        return None
    english = rephrased(draw, english)
    fits = SHORTEST <= len(english.split()) <= LONGEST
    return (english, german) if fits and key(english) not in taken else None


def rarity(pair, counts):
    """Returns the number of times that the rarest word of a pair has been used so far."""
    return min(counts.get(word, 0) for word in words_of(pair[0]))


def draw_pattern(name, function, quota, taken, counts):
    """Draws up to `quota` sentence pairs from a pattern, preferring rare words."""
    draw, pairs, failures = Draw(f"{SEED} {name}"), [], 0
    while len(pairs) < quota and failures < PATIENCE:
        tries = (candidate(draw, function, taken) for _ in range(TRIES))
        drawn = list(islice((pair for pair in tries if pair), CANDIDATES))
        if not drawn:
            failures += 1
            continue
        best = min(drawn, key=lambda pair: rarity(pair, counts))
        taken.add(key(best[0]))
        pairs.append(best)
        for word in words_of(best[0]):
            counts[word] = counts.get(word, 0) + 1
    return pairs


def make_by_pattern():
    """Returns a dictionary from pattern names to pairs; "everyday" has the hand-written ones."""
    everyday = read_pairs(EVERYDAY)
    held_out = [line for path in HELD_OUT for line in read_pairs(path)]
    taken, counts = {key(english) for english, *_ in everyday + held_out}, {}
    by_pattern = {"everyday": everyday}
    for name, function, quota in sorted(PATTERNS):
        by_pattern[name] = draw_pattern(name, function, quota, taken, counts)
    return by_pattern


def make_text(by_pattern):
    """Returns the text of the corpus: one pair per line, shuffled with a fixed seed."""
    pairs = [pair for group in by_pattern.values() for pair in group]
    random.Random(SEED).shuffle(pairs)
    return "".join(f"{english}\t{german}\n" for english, german in pairs)


def write(path=CORPUS):
    """Writes the corpus atomically."""
    temporary = path.with_suffix(".part")
    temporary.write_bytes(make_text(make_by_pattern()).encode("utf-8"))
    os.replace(temporary, path)


if __name__ == "__main__":
    write()
