"""The sentences that test what a beginner types first: their format, and that none is trained."""

from pathlib import Path

from keras_transformer.data.corpus import corpus_path
from keras_transformer.data.pairs import read_pairs
from keras_transformer.runs.folder import read_references

FILE = Path(__file__).resolve().parents[2] / "data" / "first-sentences.tsv"


def bare(sentence):
    """Returns a sentence in lower case and without punctuation at its end."""
    return sentence.lower().rstrip(" .!?")


def test_none_of_the_300_sentences_is_trained():
    sentences = [bare(source) for source, _ in read_references(FILE)]
    assert len(sentences) == len(set(sentences)) == 300
    assert not set(sentences) & {bare(english) for english, _ in read_pairs(corpus_path())}


def test_each_sentence_has_different_translations():
    for source, references in read_references(FILE):
        assert len(references) == len(set(references)), source
        assert all(x == x.strip() and x[-1] in ".?!" for x in (source, *references)), source
