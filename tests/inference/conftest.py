"""What the tests of translating begin with."""

import pytest
from keras import ops
from translating import shared_translate, trained


@pytest.fixture(scope="module")
def dataset():
    return trained()[0]


@pytest.fixture(scope="module")
def model():
    return trained()[1]


@pytest.fixture(scope="module")
def translate():
    return shared_translate()


@pytest.fixture(scope="module")
def sources(dataset):
    return [source for source, _ in dataset.test]


@pytest.fixture
def loop_steps(monkeypatch):
    """A list to which each loop of a search, run eagerly, adds the number of its steps."""
    steps, while_loop = [], ops.while_loop

    def counted(*args, **kwargs):
        position, *others = while_loop(*args, **kwargs)
        steps.append(int(position))
        return position, *others

    monkeypatch.setattr(ops, "while_loop", counted)
    return steps
