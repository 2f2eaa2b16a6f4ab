"""Bounded reading: limits on bytes, lines and characters, and encodings other than UTF-8."""

import gzip
import io
import itertools

import pytest

from keras_transformer.data.limits import Limits, limited_chunks, line_blocks, read_lines

LIMITS = Limits(max_bytes=1000, max_line=5, max_lines=3)


def split(chunks, limits=LIMITS):
    return [line for block in line_blocks(chunks, "x.txt", limits) for line in block]


@pytest.mark.parametrize("factor", [0, -1, 1e-4, 1e7, float("nan"), float("inf"), "2", True, None])
def test_a_bad_factor_is_refused(factor):
    with pytest.raises(ValueError, match=r"`data_limits` must be a number .*Received: "):
        Limits.scaled(factor)


def test_one_factor_scales_all_limits():
    doubled, default = Limits.scaled(2), Limits()
    assert (doubled.max_bytes, doubled.max_lines) == (2 * 2**31, 20_000_000)
    assert doubled.max_line == 2 * default.max_line == 200_000


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("text", ["😀b\n\nc\r\n", "\ufeffa\u2028b\x85\nc", "a", "", "\ufeff", "\n"])
def test_chunks_of_any_size_give_the_same_lines(text, size):
    data = text.encode()
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    lines = text.removeprefix("\ufeff").split("\n")
    assert split(chunks) == (lines if lines[-1] else lines[:-1])


def test_lines_are_yielded_before_the_next_chunk_is_read():
    chunks = iter([b"a\nb", b"c\n"])
    assert next(line_blocks(chunks, "x.txt", LIMITS)) == ["a"]
    assert next(chunks) == b"c\n"


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_limits_are_inclusive(end):
    assert len(split([f"a\nb\n😀😀😀😀😀{end}".encode()])) == 3
    for text in (f"a\nb\nc\nd{end}", f"a\n123456{end}", f"a\n😀😀😀😀😀😀{end}"):
        with pytest.raises(ValueError, match=r"x\.txt must have at most [35] .*--data-limits"):
            split([text.encode()])


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (b"abc", "line 1 of x.txt must have at most 5 characters"),
        (b"\n", "x.txt must have at most 3 lines"),
        (b"\0" * 100, "line 1 of x.txt must have at most 5 characters"),
    ],
)
def test_an_endless_file_is_refused_while_reading(chunk, message):
    with pytest.raises(ValueError, match=message):
        split(itertools.repeat(chunk))


def test_too_many_bytes_are_refused_while_reading():
    read = bytes  # returns any number of zero bytes, without end
    with pytest.raises(ValueError, match=r"x\.txt must have at most 1,000 bytes"):
        list(limited_chunks(read, "x.txt", LIMITS))
    assert b"".join(limited_chunks(io.BytesIO(bytes(1000)).read, "x.txt", LIMITS)) == bytes(1000)


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_the_size_counts_after_decompression(tmp_path, compress):
    path = tmp_path / ("x.txt.gz" if compress is gzip.compress else "x.txt")
    path.write_bytes(compress(b"1234\n" * 30))
    assert len(read_lines(path, Limits(max_bytes=150))) == 30
    with pytest.raises(ValueError, match=r"must have at most 149 bytes.*at least 150$"):
        read_lines(path, Limits(max_bytes=149))


@pytest.mark.parametrize("text", ["Hi.\tHallo.\n" * 2, "Привет\nмир\n", "你好\n你\n", "🙂\nü\n"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused(text, encoding):
    data = text.encode(encoding)
    with pytest.raises(ValueError, match=r"looks like UTF-16; save the file as UTF-8\. Received: "):
        split([data], Limits())
    with pytest.raises(ValueError, match="UTF-"):  # or "is not UTF-8", before the next line is seen
        split([data[i : i + 1] for i in range(len(data))], Limits())


def test_stray_zero_bytes_are_text():
    assert split([b"a\nb\nc\0"]) == ["a", "b", "c\0"]
