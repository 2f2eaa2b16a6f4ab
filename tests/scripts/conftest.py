"""Fixtures of the tests of scripts."""

import pytest
from translating import write_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Creates a folder with a trained run."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "run").mkdir()
    write_run(folder / "run")
    return folder
