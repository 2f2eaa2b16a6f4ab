"""The examples in the docstrings of the public API run and print the output they show."""

import doctest

import keras
import numpy as np
import pytest
from keras import ops

import keras_transformer as kt
from keras_transformer import testing

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NAMES = {"kt": kt, "keras": keras, "np": np, "ops": ops}


def examples():
    """Yields the examples of all public names, of their methods, and of `testing`."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    public = {name: x for name in kt.__all__ if callable(x := getattr(kt, name))}
    for name, item in {**public, "testing": testing}.items():
        found = finder.find(item, name=name, globs=dict(NAMES))
        yield from (example for example in found if example.examples)


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_example_prints_the_shown_output(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keras.utils.set_random_seed(0)
    report = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)
