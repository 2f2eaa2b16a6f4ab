"""What the tests of translating begin with."""

import pytest
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
