"""The project's own corpus."""

from pathlib import Path


def corpus_path():
    """Returns the path of the English-German corpus in the checkout."""
    return Path(__file__).resolve().parents[2] / "data" / "english-german.tsv"
