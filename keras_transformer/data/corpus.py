"""The English-German corpus and the run trained on it, which are included in the package."""

from importlib import resources
from pathlib import Path


def corpus_path() -> Path:
    """Returns the path of the English-German corpus, one tab-separated sentence pair per line."""
    return _included("english-german.tsv")


def bundled_run_path() -> Path:
    """Returns the path of the folder of a run that was trained on the corpus."""
    return _included("bundled-run")


def default_run_path() -> Path:
    """Returns the path of the run below `runs/` with the newest weights, or of the bundled run."""
    files = Path("runs").glob("**/weights/best.weights.h5")
    newest = max(files, key=lambda file: file.stat().st_mtime, default=None)
    return newest.parents[1] if newest else bundled_run_path()


def _included(name):
    return Path(str(resources.files("keras_transformer.data") / name))
