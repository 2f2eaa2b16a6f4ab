"""The sentences that test what beginners type: their format, and that none is trained."""

from pathlib import Path

import pytest

from keras_transformer.data.corpus import corpus_path
from keras_transformer.data.pairs import read_pairs
from keras_transformer.data.references import read_references

DATA = Path(__file__).resolve().parents[2] / "data"
SIZES = {"first-sentences.tsv": 300, "blind-sentences.tsv": 95}


def bare(sentence):
    """Returns a sentence in lower case and without punctuation at its end."""
    return sentence.lower().rstrip(" .!?")


def test_none_of_the_sentences_is_trained():
    sentences = [bare(source) for name in SIZES for source, _ in read_references(DATA / name)]
    assert len(sentences) == len(set(sentences)) == sum(SIZES.values())
    assert not set(sentences) & {bare(english) for english, _ in read_pairs(corpus_path())}


@pytest.mark.parametrize("name", SIZES)
def test_each_sentence_has_different_translations(name):
    pairs = read_references(DATA / name)
    assert len(pairs) == SIZES[name]
    for source, references in pairs:
        assert len(references) == len(set(references)), source
        assert all(x == x.strip() and x[-1] in ".?!" for x in (source, *references)), source
