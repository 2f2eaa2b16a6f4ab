"""Tests of loading `.keras` files, including damaged and manipulated ones."""

import io
import json
import zipfile

import h5py
import keras
import numpy as np
import pytest
from layer_contract import numpy

from keras_transformer import Bert, BlockSettings, EncoderClassifier
from keras_transformer.pretrained.keras_file import load_keras_file

IDS = np.array([[2, 5, 6, 3]], "int32")
SETTINGS = BlockSettings(h=2, d_model=4, d_ff=4)


@pytest.fixture(scope="module")
def classifier():
    model = EncoderClassifier(Bert(9, 8, SETTINGS), 3)
    model.compile(keras.optimizers.Adam(), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model(IDS)
    return model


@pytest.fixture(scope="module")
def members(classifier, tmp_path_factory):
    """The files in the `.keras` file of a classifier: bytes by name."""
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    classifier.save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(folder, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(folder / "a.keras", "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return folder / "a.keras"


def write_config(folder, members, place, value):
    """Writes a file whose configuration has another value in one place."""
    content = json.loads(members["config.json"])
    part = content
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    return write(folder, {**members, "config.json": json.dumps(content)})


def check_error(path, message, class_name="EncoderClassifier"):
    with pytest.raises(ValueError, match=message):
        load_keras_file(path, class_name)


@pytest.mark.parametrize("dtype", ("float32", "mixed_bfloat16"))
def test_a_loaded_model_computes_the_same_output(tmp_path, dtype):
    model = Bert(9, 8, SETTINGS, num_segments=None, dtype=dtype)
    expected = numpy(model(IDS))
    model.save(tmp_path / "a.keras")
    loaded = load_keras_file(tmp_path / "a.keras", "Bert")
    np.testing.assert_array_equal(numpy(loaded(IDS)), expected)


def test_the_optimizer_is_not_loaded(tmp_path, classifier, members):
    loaded = load_keras_file(write(tmp_path, members), "EncoderClassifier")
    np.testing.assert_array_equal(numpy(loaded(IDS)), numpy(classifier(IDS)))
    assert classifier.compiled and not loaded.compiled


def test_the_optimizer_is_not_deserialized(tmp_path, members):
    loss = {"module": "keras.layers", "class_name": "Lambda", "config": {}}
    path = write_config(tmp_path, members, ("compile_config",), {"loss": loss})
    assert load_keras_file(path, "EncoderClassifier").built


class TestInvalidFiles:
    def test_another_model_is_refused(self, tmp_path, members):
        check_error(write(tmp_path, members), r"must contain Bert, and no other", "Bert")

    @pytest.mark.parametrize("content", (b"", b"PK", 99 * b"x"))
    def test_a_file_that_is_not_an_archive_is_refused(self, tmp_path, content):
        (tmp_path / "a.keras").write_bytes(content)
        check_error(tmp_path / "a.keras", r"a\.keras is damaged: save.*Received: ")

    def test_damaged_content_is_refused(self, tmp_path, members):
        path = write(tmp_path, members)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        check_error(path, r"a\.keras is damaged: .*Received: .*CRC")

    @pytest.mark.parametrize(
        "changes", [{"assets/a": b""}, {"../a": b""}, {"model.weights.npz": b""}], ids=str
    )
    def test_other_members_are_refused(self, tmp_path, members, changes):
        check_error(write(tmp_path, {**members, **changes}), r"must contain the files config\.json")

    @pytest.mark.parametrize("name", ("config.json", "metadata.json", "model.weights.h5"))
    def test_a_missing_member_is_refused(self, tmp_path, members, name):
        members = {other: content for other, content in members.items() if other != name}
        check_error(write(tmp_path, members), r"must contain the files .*Received: ")

    def test_compressed_members_are_refused(self, tmp_path, members):
        path = write(tmp_path, members, zipfile.ZIP_DEFLATED)
        check_error(path, r"must not be compressed: .*Received: ")

    def test_a_huge_configuration_is_refused(self, tmp_path, members):
        path = write(tmp_path, {**members, "config.json": b" " * (2**20 + 1)})
        check_error(path, r"config\.json in .* must have at most 1,048,576 bytes")

    @pytest.mark.parametrize("text", ("", "{", "[]", "{}", 99 * "[" + 99 * "]", "\ud800"))
    def test_a_damaged_configuration_is_refused(self, tmp_path, members, text):
        content = text.encode("utf-8", "surrogatepass")
        path = write(tmp_path, {**members, "config.json": content})
        check_error(path, "is damaged|is not valid JSON|nested lists|must contain Enc")

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (("config", "pooling"), {"class_name": "__lambda__", "config": {"value": "e30="}}),
            (("config", "body"), None),
            (("config", "body", "class_name"), "EncoderClassifier"),
            (("config", "body", "registered_name"), None),
            (("config", "body", "registered_name"), "other>Bert"),
            (("config", "body", "config", "dtype", "module"), "keras.layers"),
            (("config", "body", "config", "dtype", "registered_name"), "keras_transformer>Bert"),
            (("config", "body", "compile_config"), {"loss": {"class_name": "Loss", "config": {}}}),
            (("config", "body", "config", "vocab_size"), {"class_name": "Bert", "config": {}}),
        ],
        ids=str,
    )
    def test_other_classes_are_refused(self, tmp_path, members, place, value):
        path = write_config(tmp_path, members, place, value)
        check_error(path, r"must contain EncoderClassifier with Bert, and no other class\. Rec")

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (("config", "num_labels"), 10**9),
            (("config", "num_labels"), "3"),
            (("config", "body", "config", "vocab_size"), 10**9),
            (("config", "body", "config", "vocab_size"), None),
            (("config", "body", "config", "n"), 10**6),
            (("config", "body", "config", "num_segments"), 1.5),
        ],
        ids=str,
    )
    def test_an_implausible_size_is_refused(self, tmp_path, members, place, value):
        path = write_config(tmp_path, members, place, value)
        check_error(path, rf"`{place[-1]}` must be an int from 1 to \d+\. Received: {place[-1]}=")

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (("config", "num_labels"), 10**6),
            (("config", "body", "config", "vocab_size"), 10**6),
            (("config", "body", "config", "d_k"), 60_000),
        ],
        ids=str,
    )
    def test_a_model_far_larger_than_its_weights_is_refused(
        self, tmp_path, members, monkeypatch, place, value
    ):
        monkeypatch.setattr("keras_transformer.pretrained.sizes.SLACK", 0)
        path = write_config(tmp_path, members, place, value)
        check_error(path, r"describe the model in the file.*Received: [\d,]+ parameters, but")

    @pytest.mark.parametrize("kind", (h5py.SoftLink("/a"), h5py.ExternalLink("/etc/x", "/a")))
    def test_links_in_the_weights_are_refused(self, tmp_path, members, kind):
        content = io.BytesIO(members["model.weights.h5"])
        with h5py.File(content, "r+") as file:
            file["link"] = kind
        path = write(tmp_path, {**members, "model.weights.h5": content.getvalue()})
        check_error(path, r"must not contain soft or external links")

    def test_weights_of_another_size_are_refused(self, tmp_path, members):
        path = write_config(tmp_path, members, ("config", "body", "config", "d_ff"), 7)
        check_error(path, "could not be loaded")

    def test_a_value_of_a_wrong_type_is_refused(self, tmp_path, members):
        path = write_config(tmp_path, members, ("config", "body", "config", "dtype", "config"), [])
        check_error(path, r"a\.keras is damaged: .*Received: ")

    def test_a_folder_is_refused(self, tmp_path):
        check_error(tmp_path, "must be a regular file")

    def test_a_missing_file_is_refused(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load_keras_file(tmp_path / "a.keras", "Bert")
