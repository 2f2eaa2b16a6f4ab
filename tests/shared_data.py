"""Data files beside the checkout, which not every machine has."""

from pathlib import Path

import pytest


def shared(name):
    """Returns the path of a file, or skips the test."""
    path = Path(__file__).resolve().parents[2] / "shared" / "data" / name
    if not path.exists():
        pytest.skip(f"needs the shared data file {name}")
    return path
