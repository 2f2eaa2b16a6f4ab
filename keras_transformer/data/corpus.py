"""The English-German corpus included in the package."""

from importlib import resources
from pathlib import Path


def corpus_path():
    """Returns the path of the English-German corpus, one tab-separated sentence pair per line."""
    return Path(str(resources.files("keras_transformer.data") / "english-german.tsv"))
