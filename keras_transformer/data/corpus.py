"""The project's own corpus, which is part of the package."""

from importlib import resources
from pathlib import Path


def corpus_path():
    """Returns the path of the English-German corpus: text, a tab between the languages."""
    return Path(str(resources.files("keras_transformer.data") / "english-german.tsv"))
