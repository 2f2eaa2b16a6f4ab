"""The examples in docstrings of the public API run, and print what they say."""

import doctest

import keras
import numpy as np
import pytest
from keras import ops

import keras_transformer as kt

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NAMES = {"kt": kt, "keras": keras, "np": np, "ops": ops}


def examples():
    """The examples of all public names and of their methods."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in kt.__all__:
        found = finder.find(getattr(kt, name), name=name, globs=dict(NAMES))
        yield from (example for example in found if example.examples)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_prints_what_it_says(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keras.utils.set_random_seed(0)
    report = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)
