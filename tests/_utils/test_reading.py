"""Bounded reading: size, depth, kind of file, and the length of messages."""

import json
import os

import pytest

from keras_transformer._utils.reading import excerpt, read_json, read_text


@pytest.mark.parametrize(
    "value",
    [
        list(range(10**6)),
        "x" * 10**6,
        dict.fromkeys(range(10**4), "y" * 999),
        10**999,
        [[[["z"]]]] * 99,
    ],
    ids=["list", "text", "dictionary", "integer", "nested"],
)
def test_an_excerpt_is_short(value):
    assert len(excerpt(value)) <= 201


@pytest.mark.parametrize("value", ["sentence", 3, {"h": 4, "rate": 0.1}, [1, None], "ü"])
def test_an_excerpt_of_a_short_value_is_its_representation(value):
    assert excerpt(value) == repr(value)


def test_json_round_trip(tmp_path):
    content = {"a": [1, 2.5, {"b": None}], "ü": "ß"}
    (tmp_path / "x.json").write_text(json.dumps(content), encoding="utf-8")
    assert read_json(tmp_path / "x.json") == content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not valid JSON"),
        (b"{", "is not valid JSON"),
        (b"\xff\xfe{\x00}\x00", "must be in UTF-8"),
        (b"[" * 51 + b"]" * 51, "at most 50 nested"),
        (b'{"a":' * 10**5 + b"1" + b"}" * 10**5, "at most 50 nested"),
        (b"9" * 5000, "is not valid JSON"),
        (b" " * 1000, "must have at most 999 bytes"),
        (b"[1, 2]", r"must contain a JSON object\. Received: \[1, 2\]$"),
    ],
    ids=["empty", "cut", "UTF-16", "depth 51", "depth 100,000", "digits", "size", "list"],
)
def test_malformed_json_is_refused(content, message, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    limit = 999 if "999" in message else 10**6
    with pytest.raises(ValueError, match=message) as caught:
        read_json(path, max_bytes=limit)
    assert "x.json" in str(caught.value)
    assert len(str(caught.value)) < 300 + 2 * len(str(path))


def test_fifty_levels_are_read(tmp_path):
    (tmp_path / "x.json").write_text("[" * 50 + "]" * 50)
    assert read_json(tmp_path / "x.json", list)


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(ValueError, match="must be a regular file"):
        read_text(tmp_path / "pipe.json")


def test_a_device_is_refused():
    with pytest.raises(ValueError, match="must be a regular file"):
        read_text("/dev/zero")
