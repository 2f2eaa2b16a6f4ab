"""Which cases of a property `make test` runs, and which only `make test-all`."""

import pytest


def some_of(cases, quick):
    """Returns pytest parameters; those that are not among the quick ones are `exhaustive`.

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
