"""`atomic_replace` replaces a file or folder completely or leaves it unchanged."""

import contextlib
import os
import re

import pytest
from full_disk import full_disk

from keras_transformer._utils.files import atomic_replace, check_overwriting


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("old")
    return path


def assert_old(path):
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == [path.name]


def test_replaces_a_file(old):
    with atomic_replace(old) as temporary:
        temporary.write_text("new")
        assert old.read_text() == "old"  # until the new file is complete
    assert old.read_text() == "new"
    assert os.listdir(old.parent) == [old.name]


def test_creates_a_file_and_its_parent_folders(tmp_path):
    with atomic_replace(str(tmp_path / "a" / "b" / "notes.txt")) as temporary:
        temporary.write_bytes(b"\x00\xff")
    assert (tmp_path / "a" / "b" / "notes.txt").read_bytes() == b"\x00\xff"


def test_temporary_file_has_the_same_suffixes_and_folder(tmp_path):
    with atomic_replace(tmp_path / "best.weights.h5") as temporary:
        assert temporary.suffixes[-2:] == [".weights", ".h5"] and temporary.parent == tmp_path
        assert not temporary.exists()
        temporary.touch()


def test_creates_nested_folders(tmp_path):
    with atomic_replace(tmp_path / "model") as temporary:
        (temporary / "variables" / "empty").mkdir(parents=True)
        (temporary / "variables" / "a").write_text("1")
    assert (tmp_path / "model" / "variables" / "a").read_text() == "1"
    assert (tmp_path / "model" / "variables" / "empty").is_dir()
    assert os.listdir(tmp_path) == ["model"]


def test_replaces_a_folder(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a").write_text("old")
    with atomic_replace(tmp_path / "model") as temporary:
        temporary.mkdir()
        (temporary / "b").write_text("new")
        assert (tmp_path / "model" / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["model"]
    assert os.listdir(tmp_path / "model") == ["b"]


def test_replacing_a_folder_twice_touches_nothing_else(tmp_path):
    """A folder named like an old one stays; of a link to a folder, only the link is replaced."""
    for name in ("old-model", "target"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text("mine")
    (tmp_path / "model").symlink_to("target")
    for _ in range(2):
        with atomic_replace(tmp_path / "model") as temporary:
            temporary.mkdir()
    assert sorted(os.listdir(tmp_path)) == ["model", "old-model", "target"]
    assert all((tmp_path / name / "a").exists() for name in ("old-model", "target"))


def test_a_file_replaces_neither_a_folder_nor_a_device(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a").write_text("old")
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("model", "is unchanged"), ("pipe", "not a regular file")):
        with pytest.raises(OSError, match=message), atomic_replace(tmp_path / name) as temporary:
            temporary.write_text("new")
    assert (tmp_path / "model" / "a").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["model", "pipe"]


def test_folder_that_cannot_be_replaced_is_unchanged(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a").write_text("old")
    rename = os.replace

    def refuse(source, target):
        if "partial" in str(source):
            raise OSError("no")
        rename(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with (
        pytest.raises(OSError, match="is unchanged"),
        atomic_replace(tmp_path / "model") as temporary,
    ):
        temporary.mkdir()
    assert os.listdir(tmp_path) == ["model"]
    assert (tmp_path / "model" / "a").read_text() == "old"


@pytest.mark.parametrize(("existing", "overwrite"), [("notes.txt", True), ("model.bin", False)])
def test_only_an_earlier_export_may_be_overwritten(tmp_path, existing, overwrite):
    (tmp_path / existing).write_text("mine")
    with pytest.raises(FileExistsError, match="Received"):
        check_overwriting(tmp_path, "model.bin", overwrite)


def test_an_earlier_export_and_a_new_folder_may_be_written(tmp_path):
    (tmp_path / "model.bin").write_text("")
    check_overwriting(tmp_path, "model.bin", True)
    check_overwriting(tmp_path / "new", "model.bin", False)


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, ValueError])
def test_an_error_keeps_the_old_file(old, error):
    with pytest.raises(error), atomic_replace(old) as temporary:
        temporary.write_text("half")
        raise error
    assert_old(old)


def test_write_error_states_that_existing_data_is_unchanged(old):
    expected = rf"{re.escape(str(old))} could not be written: reason\. Existing data is unchanged"
    with pytest.raises(OSError, match=expected), atomic_replace(old) as temporary:
        temporary.write_text("half")
        raise OSError("reason")
    assert_old(old)


def test_writing_nothing_is_an_error(old):
    with pytest.raises(OSError, match="could not be written"), atomic_replace(old):
        pass
    assert_old(old)


@pytest.mark.parametrize("size", [0, 4096])
def test_full_disk_keeps_the_old_file(old, size):
    with (
        pytest.raises(OSError, match=r"could not be written.*unchanged"),
        full_disk(size),
        atomic_replace(old) as temporary,
    ):
        temporary.write_bytes(b"new" * 10_000)
    assert_old(old)


def test_full_disk_leaves_no_partial_folder(tmp_path):
    with (
        pytest.raises(OSError, match=r"could not be written.*unchanged"),
        full_disk(4096),
        atomic_replace(tmp_path / "000001") as temporary,
    ):
        temporary.mkdir()
        (temporary / "small").write_bytes(b"fits")
        (temporary / "large").write_bytes(b"new" * 10_000)
    assert os.listdir(tmp_path) == []


def test_folder_that_cannot_be_created_is_an_error(old):
    with (
        pytest.raises(OSError, match="could not be written"),
        atomic_replace(old / "notes.txt") as new,
    ):
        new.write_text("new")


def test_leftovers_of_a_killed_process_are_removed(tmp_path):
    with contextlib.suppress(KeyError), atomic_replace(tmp_path / "000001") as temporary:
        raise KeyError
    temporary.mkdir()  # in a container, the next process often has the same id
    (temporary / "a").write_text("half")
    with atomic_replace(tmp_path / "000001") as temporary:
        temporary.mkdir()
        (temporary / "b").write_text("whole")
    assert os.listdir(tmp_path / "000001") == ["b"]
