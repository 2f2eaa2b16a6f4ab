import copyreg
import gzip
import os
import pickle
import re
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from full_disk import full_disk
from quick import some_of
from shared_data import shared

from keras_transformer.data.pairs import read_pairs, write_pairs

ROOT = Path(__file__).resolve().parents[2]
PAIRS = [("go on", "mach weiter"), ("a dove", "die schönste Taube"), ("😀", "ß")]
PROTOCOLS = [0, 1, 2, 3, 4, 5]
# Of each file: 2,147,484 bytes, 10,000 lines and 100 characters of a line.
SMALL_LIMITS = 0.001


def error_of(*paths, kind=ValueError, **options):
    """Returns the message of the error that reading raises: one line with the received value."""
    with pytest.raises(kind) as caught:
        read_pairs(*paths, **options)
    message = str(caught.value)
    assert "Received: " in message and "\n" not in message
    assert all(str(path) in message for path in paths)
    return message


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    return write


# Reading pickles


def with_module_path(data, core):
    """Rewrites the pickle of an array to the module path of NumPy 1 (core) or 2 (_core)."""
    old_size = len(data)
    data = re.sub(rb"cnumpy\._?core\.", b"cnumpy.%s." % core, data)

    def rename(found):
        name = b"numpy.%s.%s" % (core, found[1])
        return b"\x8c" + bytes([len(name)]) + name

    data = re.sub(rb"\x8c.numpy\._?core\.(\w+)", rename, data, flags=re.DOTALL)
    if data[2:3] == b"\x95":  # a frame begins with its size
        (size,) = struct.unpack("<Q", data[3:11])
        data = data[:3] + struct.pack("<Q", size + len(data) - old_size) + data[11:]
    return data


@pytest.mark.parametrize("core", [b"core", b"_core"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "make",
    [
        np.array,
        lambda pairs: np.array(pairs, dtype=object),
        lambda pairs: np.asfortranarray(np.array(pairs)),
        lambda pairs: np.asfortranarray(np.array(pairs, dtype=object)),
        lambda pairs: np.array(pairs, dtype=">U30"),
        lambda pairs: np.array([pair[::-1] for pair in pairs])[:, ::-1],
    ],
    ids=["text", "object", "fortran", "fortran-object", "big-endian", "view"],
)
def test_reads_pickled_text_arrays(write, make, protocol, core):
    data = with_module_path(pickle.dumps(make(PAIRS), protocol=protocol), core)
    assert b"numpy." + core in data
    assert read_pairs(write("pairs.pkl", data)) == PAIRS


def test_reads_a_read_only_array(write):
    array = np.array(PAIRS)
    array.flags.writeable = False
    assert read_pairs(write("pairs.pickle", pickle.dumps(array, protocol=5))) == PAIRS


def test_reads_repeated_references_to_one_object(write):
    data = pickle.dumps(np.array([["a", "b"], ["a", "b"]], dtype=object))
    assert read_pairs(write("pairs.pkl", data)) == [("a", "b"), ("a", "b")]


@pytest.mark.filterwarnings("ignore:numpy.core")
def test_reads_the_published_format():
    path = shared("published-format-english-german-test.pkl")
    pairs = read_pairs(path)
    assert len(pairs) == 1000 and pairs[0] == ("im a purist", "ich bin ein purist")
    assert pairs == [tuple(pair) for pair in pickle.loads(path.read_bytes()).tolist()]


# Refused pickles


class Calls:
    """Pickles as a function call, which `pickle.loads` executes."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hostile_calls(marker):
    return {
        "os.system": Calls(os.system, f'echo > "{marker}"'),
        "eval": Calls(eval, f"open({str(marker)!r}, 'w').close()"),
        "numpy.save": Calls(np.save, str(marker), 0),
        "numpy.method": Calls(np.ndarray.tofile, np.zeros(1), str(marker)),
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("inside", [False, True], ids=["top-level", "nested"])
@pytest.mark.parametrize("name", hostile_calls(""))
def test_calls_in_a_pickle_are_not_executed(write, tmp_path, name, inside, protocol):
    marker = tmp_path / "marker.npy"
    call = hostile_calls(marker)[name]
    data = pickle.dumps(np.array([["a", call]], dtype=object) if inside else call, protocol)
    pickle.loads(data)
    assert marker.exists()  # an ordinary unpickler does execute the call
    marker.unlink()
    assert "array of text, of shape (n, 2)" in error_of(write("hostile.pkl", data))
    assert not marker.exists()


def test_error_names_the_refused_call(write):
    data = pickle.dumps(Calls(os.system, "true"))
    assert f"a call of '{os.system.__module__}.system'" in error_of(write("hostile.pkl", data))


@pytest.mark.parametrize(
    "global_name", ["numpy\nndarray.tofile", "numpy.core.multiarray\nfromfile", "numpy\ncore"]
)
def test_refuses_other_numpy_names(write, global_name):
    error_of(write("hostile.pkl", b"\x80\x02c" + global_name.encode() + b"\n."))


def test_refuses_registered_extensions(write):
    copyreg.add_extension("os", "system", 200)
    try:
        data = pickle.dumps(Calls(os.system, "true"), protocol=2).replace(
            b"c%s\nsystem\n" % os.system.__module__.encode(), b"\x82\xc8"
        )
        assert "opcode EXT1" in error_of(write("hostile.pkl", data))
    finally:
        copyreg.remove_extension("os", "system", 200)


def test_refuses_bytes_as_an_object_array(write):
    from_buffer = np.zeros(1).__reduce_ex__(5)[0]
    data = pickle.dumps(Calls(from_buffer, bytes(16), np.dtype(object), (1, 2), "C"))
    error_of(write("hostile.pkl", data))


def test_claimed_sizes_allocate_no_memory(write):
    from_buffer = np.zeros(1).__reduce_ex__(5)[0]
    rows = pickle.dumps(Calls(from_buffer, bytes(8), np.dtype("U1"), (2**40, 2), "C"))
    width = pickle.dumps(Calls(from_buffer, bytes(8), np.dtype("U99999999"), (9, 2), "C"))
    assert f"{2**40 * 8} bytes" in error_of(write("rows.pkl", rows))
    assert f"{9 * 8 * 99999999} bytes" in error_of(write("width.pkl", width))
    for memo in (b"\x80\x02Nr\xff\xff\xff\x7f.", b"Np2147483647\n."):
        assert "memo index 2147483647" in error_of(write("memo.pkl", memo))
    error_of(write("bytes.pkl", b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"a."))


@pytest.mark.parametrize("size", [4, 12])
def test_refuses_bytes_that_do_not_match_the_shape(write, size):
    from_buffer = np.zeros(1).__reduce_ex__(5)[0]
    data = pickle.dumps(Calls(from_buffer, bytes(size), np.dtype("U1"), (1, 2), "C"))
    assert "the 8 bytes" in error_of(write("pairs.pkl", data))


def test_refuses_a_pickle_truncated_anywhere(write):
    data = pickle.dumps(np.array(PAIRS), protocol=4)
    for size in range(1, len(data)):
        error_of(write("cut.pkl", data[:size]))


@pytest.mark.parametrize(
    ("content", "received"),
    [
        (np.array(["a", "b"]), "shape (2,)"),
        (np.array([["a", "b", "c"]]), "shape (1, 3)"),
        (np.array([[["a"], ["b"]]]), "shape (1, 2, 1)"),
        (np.array([["a", "b", "c"]], dtype=object), "shape (1, 3)"),
        (np.array([[1, 2]], dtype="int64"), "dtype 'i8'"),
        (np.array([[b"a", b"b"]]), "dtype 'S1'"),
        (np.array([["a", 1]], dtype=object), "2 (str, int)"),
        (np.array([["a", b"b"]], dtype=object), "2 (str, bytes)"),
        (np.array([["a", None]], dtype=object), "2 (str, NoneType)"),
        (np.array([["a", "\ud800"]]), "'\\ud800'"),
        (np.array([["a", ""]]), "none"),
        (np.empty((0, 2), dtype="U1"), "none"),
        ([("a", "b")], "list"),
        ("a", "str"),
        ({}, "opcode EMPTY_DICT"),
    ],
)
def test_error_describes_other_content_of_a_pickle(write, content, received):
    assert received in error_of(write("pairs.pkl", pickle.dumps(content, 4))).split("Received: ")[1]


def test_refuses_text_with_the_suffix_of_a_pickle(write):
    assert "array of text" in error_of(write("pairs.pkl", "go on\tmach weiter\n"))


# Tab-separated text


@pytest.mark.parametrize(
    "text",
    [
        "a b\tc\nd\te\n",
        "a b\tc\nd\te",
        "a b\tc\r\nd\te\r\n",
        "a b\tc\rd\te\r",
        "\ufeffa b\tc\nd\te\n",
        "\ufeffEnglish\tGerman\r\na b\tc\r\nd\te\r\n",
        "source\ttarget\na b\tc\nd\te\n",
        "EN\tde\tlicence\na b\tc\t1\nd\te\t2\n",
        "a b\tc\tCC BY 2.0\textra\nd\te\t\n",
        "\n  \na b\tc\n\t\n\r\nd\te\n\n",
        " a b \t c\u00a0\nd\te\n",
    ],
    ids=[
        *["plain", "no final newline", "CRLF", "CR", "BOM", "BOM and header", "header"],
        *["header of three columns", "four columns", "blank lines", "whitespace"],
    ],
)
@pytest.mark.parametrize("name", ["pairs.tsv", "PAIRS.TXT"])
def test_reads_tab_separated_text(write, name, text):
    assert read_pairs(write(name, text)) == [("a b", "c"), ("d", "e")]


def test_keeps_pairs_with_one_empty_side(write):
    text = "a\tb\nno target\t\n\tno source\n"
    pairs = [("a", "b"), ("no target", ""), ("", "no source")]
    assert read_pairs(write("pairs.tsv", text)) == pairs


def test_a_header_has_two_different_column_names(write):
    text = "German\tDeutsch!\nEnglish\tGerman\nen\ten\n"
    assert len(read_pairs(write("pairs.tsv", text))) == 3
    assert len(read_pairs(write("pairs.tsv", "en\ten\n" + text))) == 4


def test_quotes_and_rare_line_separators_are_text(write):
    pairs = [('"a', 'b"'), ("c\u2028d\x85e", "f\x0cg")]
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    assert read_pairs(write("pairs.tsv", text)) == pairs


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_error_names_the_line_with_one_column(write, end):
    message = error_of(write("pairs.tsv", end.join(["a\tb", "", "only one", "c\td"])))
    assert "line 3" in message and "'only one'" in message


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "BOM"])
def test_error_names_the_line_that_is_not_utf8(write, start):
    message = error_of(write("pairs.tsv", start + b"a\tb\nc\td\ngo\tsch\xf6n\n"))
    assert "line 3" in message and "0xf6" in message


def test_reads_a_real_corpus():
    pairs = read_pairs(shared("deu.txt"))
    assert len(pairs) == 47448 and pairs[2] == ("Hi.", "Grüß Gott!")


# Parallel text


def test_parallel_files_are_paired_line_by_line(write):
    source = write("train.en", "\ufeffa b\r\n\r\nd\tx\r\n")
    target = write("train.de", "c\nnothing to translate\ne")
    pairs = [("a b", "c"), ("", "nothing to translate"), ("d\tx", "e")]
    assert read_pairs(source, target) == pairs


def test_error_reports_the_line_counts_of_parallel_files(write):
    source, target = write("train.en", "a\nb\nc\n"), write("train.de", "a\nb\n")
    assert error_of(source, target).endswith("Received: 3 and 2")


def test_error_names_the_parallel_file_that_is_not_utf8(write):
    source, target = write("train.en", "a\nb\n"), write("train.de", b"a\n\xff\n")
    assert "line 2 of train.de" in error_of(source, target)


def test_reads_compressed_parallel_text():
    paths = [shared(f"multi30k/val.{language}.gz") for language in ("en", "de")]
    assert len(read_pairs(*paths)) == 1014


# Any file


def test_reads_compressed_files(write):
    pickled, text = pickle.dumps(np.array(PAIRS)), "go on\tmach weiter\n"
    assert read_pairs(write("pairs.pkl.gz", gzip.compress(pickled))) == PAIRS
    assert read_pairs(write("pairs.TSV.GZ", gzip.compress(text.encode()))) == PAIRS[:1]


def test_refuses_damaged_compression(write):
    whole = gzip.compress(b"a\tb\n" * 99)
    for data in (b"a\tb\n", whole[:-9], whole[:12] + b"\xff" * 9 + whole[21:]):
        assert "gzip" in error_of(write("pairs.tsv.gz", data))


@pytest.mark.parametrize("name", ["pairs.pkl", "pairs.tsv"])
def test_refuses_a_file_that_is_missing_or_empty(write, tmp_path, name):
    error_of(tmp_path / name, kind=FileNotFoundError)
    assert "the file is empty" in error_of(write(name, b""))
    if name == "pairs.tsv":
        assert "the file is empty" in error_of(write(name, "\ufeff"))


def test_refuses_a_missing_parallel_file(write, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Received: .*train\.de"):
        read_pairs(write("train.en", "a\n"), tmp_path / "train.de")


@pytest.mark.skipif(os.name == "nt", reason="needs named pipes")
@pytest.mark.parametrize(
    "make",
    [Path.mkdir, lambda path: os.mkfifo(path), lambda path: path.symlink_to("/dev/zero")],
    ids=["folder", "pipe", "device"],
)
def test_refuses_anything_but_a_regular_file(tmp_path, make):
    path = tmp_path / "pairs.tsv"
    make(path)
    assert "must be a regular file" in error_of(path)
    with pytest.raises(ValueError, match="must be a regular file"):
        read_pairs(ROOT / "data" / "everyday.tsv", path)


@pytest.mark.parametrize("text", ["\n", "a\t\n", "source\ttarget\n"])
def test_refuses_a_file_without_pairs(write, text):
    assert error_of(write("pairs.tsv", text)).endswith("Received: none")


@pytest.mark.parametrize("name", ["train.en", "pairs"])
def test_refuses_a_name_without_a_known_suffix(write, name):
    assert error_of(write(name, "a\tb\n")).endswith(f"Received: {name}")


# Limits


def beyond_limits():
    """Returns files beyond the small limits: name, content, and a part of the error."""
    text, rows = "x" * 101, [("a", "b")] * 10_001
    lines = b"".join(b"a\tb\n" for _ in rows)
    return {
        "long line": ("x.tsv", f"a\tb\na\t{text}\n".encode(), "line 2 of x.tsv"),
        "many lines": ("x.tsv", lines, "at most 10,000 lines"),
        "many blank lines": ("x.tsv", b"\n" * 10_001, "at most 10,000 lines"),
        "many bytes": ("x.tsv", ("😀" * 60 + "\n").encode() * 9000, "at most 2,147,484 bytes"),
        "zeros": ("x.tsv", bytes(1 << 26), "at most 2,147,484 bytes"),
        "compressed zeros": ("x.tsv.gz", gzip.compress(bytes(1 << 26), 1), "line 1 of x.tsv.gz"),
        "compressed pickle": ("x.pkl.gz", gzip.compress(bytes(1 << 26), 1), "2,147,484 bytes"),
        "long text": ("x.pkl", pickle.dumps(np.array([["a", text]])), "100 characters"),
        "long object": ("x.pkl", pickle.dumps(np.array([["a", text]], "O")), "100 characters"),
        "many pairs": ("x.pkl", pickle.dumps(np.array(rows, "O")), "at most 10,000 lines"),
        "opcodes": ("x.pkl", b"\x80\x04" + b"N" * 90_000 + b".", "more than 81,"),
    }


@pytest.mark.parametrize(
    "case",
    some_of(list(beyond_limits()), ("many lines", "compressed zeros", "many pairs", "opcodes")),
)
def test_refuses_files_beyond_the_limits(write, case):
    name, content, message = beyond_limits()[case]
    path = write(name, content)
    tracemalloc.start()
    found = error_of(path, data_limits=SMALL_LIMITS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message in found and ("--data-limits" in found or "opcodes" in found)
    assert peak < 1 << 24  # 16 MB: the 64 MB of zeros are not decompressed first


def test_the_message_about_a_damaged_pickle_is_short(write):
    path = write("pairs.pkl", b"S" + b"{" * 10_000 + b"\n.")  # no quotes
    assert len(error_of(path)) < 700


def test_repeated_references_in_a_pickle_count_each_time(write):
    data = pickle.dumps(np.array([["x" * 120] * 2] * 11_000, dtype=object))
    path = write("pairs.pkl", data)
    assert len(data) < 100_000 and len(read_pairs(path)) == 11_000
    message = error_of(path, data_limits=0.0012)  # at most 120 characters and 12,000 pairs
    assert message.endswith("Received: at least 2,640,000") and "2,576,980 bytes" in message


# Writing


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".tsv", ".txt", ".PKL"])
def test_written_pairs_are_read_back(tmp_path, suffix):
    path = tmp_path / f"pairs{suffix}"
    write_pairs(path, iter(PAIRS))
    assert read_pairs(path) == PAIRS
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [".pkl", ".tsv"])
def test_a_first_pair_like_a_header_is_read_back(tmp_path, suffix):
    pairs = [("english", "german"), ("source", "target"), ("a", "b")]
    write_pairs(tmp_path / f"pairs{suffix}", pairs)
    assert read_pairs(tmp_path / f"pairs{suffix}") == pairs


def test_writes_the_published_format(tmp_path):
    write_pairs(tmp_path / "pairs.pkl", PAIRS)
    array = pickle.loads((tmp_path / "pairs.pkl").read_bytes())
    assert array.shape == (3, 2) and array.dtype == np.dtype("U18")
    assert array.tolist() == [list(pair) for pair in PAIRS]


def test_writes_a_numpy_array(tmp_path):
    write_pairs(tmp_path / "pairs.tsv", np.array(PAIRS))
    assert read_pairs(tmp_path / "pairs.tsv") == PAIRS


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("pairs.tsv", [("a", "b"), ("a\tb", "c")]),
        ("pairs.tsv", [("a", "b"), ("a", "b\nc")]),
        ("pairs.txt", [("a", "b"), ("a", "b\r")]),
        ("pairs.pkl", [("a", "b"), ("a", "b\0")]),
        ("pairs.pkl", [("a", "b"), ("a", "\ud800")]),
        ("pairs.tsv", [("a", "b"), ("\udfff", "b")]),
        ("pairs.tsv", [("a", "b"), ("a", "b", "c")]),
        ("pairs.tsv", [("a", "b"), ("a",)]),
        ("pairs.pkl", [("a", "b"), ("a", 1)]),
        ("pairs.pkl", [("a", "b"), ("a", b"b")]),
    ],
)
def test_refuses_pairs_that_the_format_cannot_represent(tmp_path, name, pairs):
    with pytest.raises(ValueError, match=r"Pair 2 .*Received: "):
        write_pairs(tmp_path / name, pairs)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(("name", "pairs"), [("pairs.tsv", []), ("pairs.csv", PAIRS)])
def test_refuses_to_write_an_empty_list_or_an_unknown_format(tmp_path, name, pairs):
    with pytest.raises(ValueError, match="Received: "):
        write_pairs(tmp_path / name, pairs)
    assert not os.listdir(tmp_path)


def test_writing_keeps_a_symbolic_link(tmp_path):
    try:
        (tmp_path / "link.tsv").symlink_to(tmp_path / "pairs.tsv")
    except OSError:
        pytest.skip("needs symbolic links")
    write_pairs(tmp_path / "link.tsv", PAIRS)
    assert (tmp_path / "link.tsv").is_symlink()
    assert read_pairs(tmp_path / "pairs.tsv") == PAIRS


@pytest.mark.parametrize("name", ["pairs.pkl", "pairs.tsv"])
def test_a_full_disk_keeps_the_existing_file(tmp_path, name):
    write_pairs(tmp_path / name, PAIRS)
    with pytest.raises(OSError), full_disk(4096):
        write_pairs(tmp_path / name, [("new", "neu")] * 10_000)
    assert read_pairs(tmp_path / name) == PAIRS
    assert os.listdir(tmp_path) == [name]
