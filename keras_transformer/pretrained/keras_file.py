"""Loads a BERT or a classifier from a `.keras` file, which may come from an untrusted source."""

import tempfile
import zipfile

import keras

from keras_transformer._utils.checks import check_integers
from keras_transformer._utils.hdf5 import check_hdf5
from keras_transformer._utils.reading import check_regular, excerpt, parse_json
from keras_transformer.pretrained.sizes import check_parameters, check_plausible
from keras_transformer.settings import SETTING_NAMES, BlockSettings, upgrade_config

_CONFIG, _WEIGHTS = "config.json", "model.weights.h5"
_MEMBERS = [_CONFIG, "metadata.json", _WEIGHTS]
_MAX_CONFIG = 1 << 20  # bytes; that of a classifier has 1 kB
_BYTES = 2  # of a parameter, at least: float16
_MAX_LABELS = 1_000_000
_POLICY = "DTypePolicy"
# Zip files that are damaged, and configurations with a value of a wrong type.
_DAMAGED = (
    zipfile.BadZipFile, AttributeError, EOFError, KeyError, NotImplementedError, RuntimeError,
    TypeError, UnicodeDecodeError,
)  # fmt: skip


def load_keras_file(path, class_name):
    """Loads a `Bert` or an `EncoderClassifier`, without its optimizer.

    Keras loads any of its classes, and some of them read other files. Here a file can contain only
    these two models with their dtype policies, and only as large as their weights.

    Args:
        path: path of a `.keras` file.
        class_name: "Bert" or "EncoderClassifier".

    Returns:
        The model, not compiled.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if the file is damaged, or contains something else.
    """
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
            _check_members(archive.infolist(), path)
            content = parse_json(archive.read(_CONFIG).decode("utf-8"), f"{_CONFIG} in {path}")
            _check_content(content, class_name, archive.getinfo(_WEIGHTS).file_size, path)
            check_hdf5(archive.extract(_WEIGHTS, folder), name=f"{_WEIGHTS} in {path}")
        return keras.models.load_model(path, compile=False, safe_mode=True)
    except _DAMAGED as error:
        raise ValueError(
            f"{path} is damaged: save the model again with `save`. Received: {excerpt(str(error))}"
        ) from None


def _check_members(members, path):
    names = [member.filename for member in members]
    if sorted(names) != _MEMBERS:
        raise ValueError(
            f"{path} must contain the files {', '.join(_MEMBERS)}. Received: {excerpt(names)}"
        )
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError(
            f"The files in {path} must not be compressed: save the model with `save`. "
            "Received: a compressed file"
        )
    size = members[names.index(_CONFIG)].file_size
    if size > _MAX_CONFIG:
        raise ValueError(
            f"{_CONFIG} in {path} must have at most {_MAX_CONFIG:,} bytes. Received: {size:,} bytes"
        )


def _check_content(content, class_name, num_bytes, path):
    """Checks the classes and sizes in a configuration, whose weights have `num_bytes`."""
    expected = ["Bert"] if class_name == "Bert" else [class_name, "Bert"]
    # Keras does not read the optimizer, loss and metrics of an uncompiled model.
    parts = [part for part in _parts({**content, "compile_config": {}}) if "class_name" in part]
    models = [part for part in parts if part["class_name"] != _POLICY]
    if [part["class_name"] for part in models] != expected or not all(map(_is_known, parts)):
        raise ValueError(
            f"{path} must contain {' with '.join(expected)}, and no other class. "
            f"Received: {excerpt([part['class_name'] for part in parts])}"
        )
    configs = [upgrade_config(part["config"]) for part in models]
    for config in configs:
        check_plausible(config)
    body, num_labels = configs[-1], configs[0].get("num_labels", 1)
    check_integers(1, _MAX_LABELS, num_labels=num_labels)
    rows = body["vocab_size"] + body["seq_length"] + (body["num_segments"] or 0) + num_labels
    settings = BlockSettings(**{name: body[name] for name in SETTING_NAMES if name in body})
    check_parameters(settings, 1, rows, num_bytes // _BYTES, path)


def _parts(content):
    """Yields all dictionaries in a configuration, outer ones first."""
    if isinstance(content, dict):
        yield content
        content = list(content.values())
    if isinstance(content, list):
        for value in content:
            yield from _parts(value)


def _is_known(part):
    """Whether Keras finds the class of a part among the dtype policies and registered classes."""
    if part["class_name"] == _POLICY:
        return part.get("module") == "keras" and part.get("registered_name") is None
    return part.get("registered_name") == f"keras_transformer>{part['class_name']}"
