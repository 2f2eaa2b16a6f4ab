"""Reading and writing of shards: every line has its place, and no file takes much memory."""

import gzip
import tracemalloc

import pytest

from keras_transformer.bulk.shards import PIECE, open_writer, read_pieces
from keras_transformer.data.limits import Limits

NOT_UTF8, TOO_LONG = "not UTF-8: byte 0xfc", "more than 100,000 characters"


def read(path, column=None, data_limits=1.0):
    pieces = read_pieces(path, column, Limits.scaled(data_limits))
    return [entry for piece in pieces for entry in piece]


def sentences(*texts):
    return [(text, None) for text in texts]


FILES = {
    "lines": (b"one\ntwo\n", sentences("one", "two")),
    "no final newline": (b"one\ntwo", sentences("one", "two")),
    "Windows": (b"\xef\xbb\xbfone\r\ntwo\r\n", sentences("one", "two")),
    "empty lines": (b"\n\none\n\n", sentences("", "", "one", "")),
    "empty": (b"", []),
    "only a byte order mark": (b"\xef\xbb\xbf", []),
    "other separators inside": ("a\u2028b\nc\x85\n".encode(), sentences("a\u2028b", "c\x85")),
    "Latin-1": (b"one\nf\xfcr\nthree\n", [("one", None), ("", NOT_UTF8), ("three", None)]),
    "long": (b"x" * 100_000 + b"\n", sentences("x" * 100_000)),
    "too long": (b"a\n" + b"x" * 100_001 + b"\nb", [("a", None), ("", TOO_LONG), ("b", None)]),
    "endless": (b"a\n" + b"\xc3\xbc" * 10**6 + b"\nb", [("a", None), ("", TOO_LONG), ("b", None)]),
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(("content", "expected"), FILES.values(), ids=FILES)
def test_each_line_is_a_sentence_or_has_a_reason(tmp_path, content, expected, compressed):
    path = tmp_path / ("part.en.gz" if compressed else "part.en")
    path.write_bytes(gzip.compress(content) if compressed else content)
    assert read(path) == expected


def test_a_column_of_tab_separated_text_is_read(tmp_path):
    path = tmp_path / "part.tsv"
    path.write_bytes(b"one\ttwo\r\nthree\n\tf\xfcr\n")
    assert read(path) == sentences("one", "three", "")
    missing = ("", "the line does not have this column")
    assert read(path, "2") == [("two", None), missing, ("", NOT_UTF8)]


REFUSED = {
    "not gzip": ("part.gz", b"one\n", "expected gzip data"),
    "cut off": ("part.gz", gzip.compress(b"one\n" * 999)[:-12], "expected gzip data"),
    "UTF-16": ("part.txt", "one\n".encode("utf-16"), "looks like UTF-16"),
    "too many lines": ("part.txt", b"\n" * 10_001, "at most 10,000 lines"),
    "bomb": ("part.gz", gzip.compress(b"x" * 3_000_000), "at most 2,147,484 bytes"),
    "not Parquet": ("part.parquet", b"PAR1 and no more", "cannot be read as Parquet"),
}


@pytest.mark.parametrize(("name", "content", "message"), REFUSED.values(), ids=REFUSED)
def test_a_damaged_or_huge_shard_is_refused(tmp_path, name, content, message):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / name, data_limits=0.001)


@pytest.mark.parametrize("name", ["part.txt", "part.gz", "part.parquet"])
def test_a_missing_shard_is_refused(tmp_path, name):
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises((ValueError), match=r"part.* could not be read: .*No such file"):
        read(tmp_path / name)


@pytest.mark.parametrize("length", [1000, 10**7], ids=["many lines", "one line"])
def test_memory_does_not_grow_with_the_shard(tmp_path, length):
    path = tmp_path / "part.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(10**7 // length):
            file.write(b"x" * length + b"\n")
    pieces = read_pieces(path, None, Limits(max_line=1000))
    tracemalloc.start()
    number = sum(map(len, pieces))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert number == 10**7 // length
    assert peak < 6e6  # bytes


def test_a_piece_of_long_lines_is_short(tmp_path):
    (tmp_path / "part.txt").write_bytes((b"x" * 100_000 + b"\n") * 300)
    lengths = [len(piece) for piece in read_pieces(tmp_path / "part.txt", None, Limits())]
    assert sum(lengths) == 300 and max(lengths) < 200 < PIECE


# Parquet


def test_a_column_of_parquet_is_read(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    path = tmp_path / "part.parquet"
    offsets, data = (pyarrow.py_buffer(x) for x in (b"\0\0\0\0\2\0\0\0\4\0\0\0", b"okf\xfc"))
    broken = pyarrow.StringArray.from_buffers(2, offsets, data)
    columns = {
        "id": [1, 2],
        "en": ["one", None],
        "large": pyarrow.array(["one", "x" * 100_001], pyarrow.large_string()),
        "repeated": pyarrow.array(["one", "one"]).dictionary_encode(),
        "bytes": pyarrow.array([b"one", b"f\xfc"]),
        "broken": broken,
    }
    parquet.write_table(pyarrow.table(columns), path)
    assert read(path, "en") == sentences("one", "")
    assert read(path, "large") == [("one", None), ("", TOO_LONG)]
    assert read(path, "repeated") == sentences("one", "one")
    assert read(path, "bytes") == [("one", None), ("", NOT_UTF8)]
    assert read(path, "broken") == [("ok", None), ("", NOT_UTF8)]
    for column in (None, "id", "de"):
        with pytest.raises(ValueError, match=r"must have this column of text.*Received: column="):
            read(path, column)
    parquet.write_table(pyarrow.table({x: columns[x] for x in ("id", "en")}), path)
    assert read(path) == sentences("one", "")


def test_repeated_values_of_parquet_take_no_memory(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    path = tmp_path / "part.parquet"
    values = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 10_000), ["x" * 10**7])
    parquet.write_table(pyarrow.table({"en": values}), path)
    before = pyarrow.default_memory_pool().max_memory()
    with pytest.raises(ValueError, match=r"4,096 rows that are too large.*40,960,000,000 bytes"):
        read(path)
    assert pyarrow.default_memory_pool().max_memory() < before + 10**8


# Writing

ENTRIES = [[("Guten\tMorgen\r\n!", -0.5), ("Hallo!", -1.0)], None, [("", 0.0)]]


@pytest.mark.parametrize(
    ("with_scores", "n_best", "lines"),
    [
        (False, 1, ["Guten Morgen  !", "", ""]),
        (True, 1, ["-0.500\tGuten Morgen  !", "", "0.000\t"]),
        (True, 2, ["-0.500\tGuten Morgen  !\t-1.000\tHallo!", "", "0.000\t"]),
    ],
)
@pytest.mark.parametrize("name", ["part.tsv", "part.txt.gz"])
def test_each_sentence_is_one_line(tmp_path, name, with_scores, n_best, lines):
    files = [tmp_path / name, tmp_path / f"again-{name}"]
    for file in files:
        with open_writer(file, with_scores, n_best) as write:
            for entry in ENTRIES:
                write([entry and entry[:n_best]])
    contents = [file.read_bytes() for file in files]
    assert contents[0] == contents[1]
    text = gzip.decompress(contents[0]) if name.endswith(".gz") else contents[0]
    assert text.decode() == "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("n_best", "rows"),
    [
        (1, [{"translation": "Guten\tMorgen\r\n!", "score": -0.5},
             {"translation": "", "score": None}, {"translation": "", "score": 0.0}]),
        (2, [{"translation": ["Guten\tMorgen\r\n!", "Hallo!"], "score": [-0.5, -1.0]},
             {"translation": [], "score": []}, {"translation": [""], "score": [0.0]}]),
    ],
)  # fmt: skip
def test_each_sentence_is_one_row(tmp_path, n_best, rows):
    parquet = pytest.importorskip("pyarrow.parquet")
    for with_scores in (True, False):
        with open_writer(tmp_path / "part.parquet", with_scores, n_best) as write:
            for entry in ENTRIES:
                write([entry and entry[:n_best]])
        names = ("translation", "score")[: 1 + with_scores]
        expected = [{name: row[name] for name in names} for row in rows]
        assert parquet.read_table(tmp_path / "part.parquet").to_pylist() == expected
