"""What a user of the scripts has."""

import pytest
from translating import write_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a trained run in it."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "run").mkdir()
    write_run(folder / "run")
    return folder
