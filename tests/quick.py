"""Marks the test cases that `make test` skips and `make test-all` runs."""

import keras
import pytest


def exhaustive_on_jax(test):
    """Marks a test whose law does not depend on the backend, but which JAX compiles for seconds."""
    return pytest.mark.exhaustive(test) if keras.config.backend() == "jax" else test


def some_of(cases, quick):
    """Returns the cases as pytest parameters, with all but the quick ones marked `exhaustive`.

    Args:
        cases: names, or a dictionary of values by name.
        quick: names of the cases that `make test` runs.
    """
    values = cases if isinstance(cases, dict) else {name: name for name in cases}
    assert set(quick) <= set(values), quick
    return [
        pytest.param(value, id=name, marks=() if name in quick else pytest.mark.exhaustive)
        for name, value in values.items()
    ]
