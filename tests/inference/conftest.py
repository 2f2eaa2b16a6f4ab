"""Fixtures of the inference tests."""

import pytest
from keras import ops
from tiny import make_dataset
from translating import shared_translate, trained


@pytest.fixture(scope="module")
def dataset():
    return make_dataset()


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
    """A list to which each eager `ops.while_loop` appends its number of steps."""
    steps, while_loop = [], ops.while_loop

    def while_loop_with_count(*args, **kwargs):
        position, *others = while_loop(*args, **kwargs)
        steps.append(int(position))
        return position, *others

    monkeypatch.setattr(ops, "while_loop", while_loop_with_count)
    return steps
