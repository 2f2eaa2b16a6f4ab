"""Bounded reading of text files, which may be damaged, endless or compressed to be huge."""

import codecs
import contextlib
import dataclasses
import functools
import gzip
import zlib

from keras_transformer._utils.checks import check_numbers
from keras_transformer._utils.reading import check_regular

_CHUNK = 1 << 16  # bytes
_BYTES_PER_CHARACTER = 4  # at most, in UTF-8


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits of a text file.

    Args:
        max_bytes: maximum number of bytes after decompression.
        max_line: maximum number of characters of a line or sentence.
        max_lines: maximum number of lines or pairs.
        advice: what to do about a larger file, for messages.
    """

    max_bytes: float = 1 << 31
    max_line: int = 100_000
    max_lines: float = 10_000_000
    advice: str = "if you trust the file, raise `data_limits` (--data-limits)"

    @classmethod
    def scaled(cls, data_limits):
        """Returns the default limits multiplied by a factor.

        Raises:
            ValueError: if the factor is not a number from 0.001 to 1,000,000.
        """
        check_numbers(0.001, 10**6, data_limits=data_limits)
        defaults = (cls.max_bytes, cls.max_line, cls.max_lines)
        return cls(*(round(data_limits * limit) for limit in defaults))

    def check_bytes(self, size, name):
        """Raises a ValueError if a file has too many bytes."""
        if size > self.max_bytes:
            self._refuse(name, self.max_bytes, "bytes", size)

    def check_lines(self, number, name):
        """Raises a ValueError if a file has too many lines or pairs."""
        if number > self.max_lines:
            self._refuse(name, self.max_lines, "lines or pairs", number)

    def check_line(self, length, name):
        """Raises a ValueError if a line or sentence has too many characters."""
        if length > self.max_line:
            self._refuse(name, self.max_line, "characters", length)

    @property
    def refused_line_bytes(self):
        """The number of bytes of UTF-8 that are certainly too long for a line."""
        return _BYTES_PER_CHARACTER * (self.max_line + 1)

    def check_line_bytes(self, size, name):
        """Raises a ValueError if the bytes of a line, or of its beginning, are too long."""
        self.check_line(size // _BYTES_PER_CHARACTER, name)

    def _refuse(self, name, limit, unit, number):
        raise ValueError(
            f"{name} must have at most {limit:,} {unit}; {self.advice}. "
            f"Received: at least {number:,}"
        )


@contextlib.contextmanager
def open_limited(path, limits):
    """Opens a regular file, decompressed if its suffix is `.gz`, for reading in limited chunks.

    Args:
        path: a `Path`.
        limits: the `Limits`.

    Yields:
        An iterator of the chunks, bytes.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: here or while reading, if the file is not a regular one, is too large, or is not
            valid gzip data.
    """
    check_regular(path)
    compressed = path.suffix.lower() == ".gz"
    if not compressed:  # refused before the first 2 GiB are read
        limits.check_bytes(path.stat().st_size, path.name)
    try:
        with (gzip.open if compressed else open)(path, "rb") as file:
            yield limited_chunks(file.read, path.name, limits)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"expected gzip data; download the file again. Received: {path.name} ({error})"
        ) from error


def limited_chunks(read, name, limits):
    """Reads to the end of a file.

    Args:
        read: the method `read` of an open binary file, or `read1` to not wait for whole chunks.
        name: name of the file for messages.
        limits: the `Limits`.

    Yields:
        Chunks of bytes.

    Raises:
        ValueError: if the file is too large.
    """
    size = 0
    for chunk in iter(functools.partial(read, _CHUNK), b""):
        size += len(chunk)
        limits.check_bytes(size, name)
        yield chunk


def text_lines(chunks, name, limits):
    """Yields the lines of UTF-8 text.

    Lines end with LF or CRLF; the carriage return is kept. If the first 64 KiB have no LF, lines
    end with CR alone, as on classic Mac OS.

    Args:
        chunks: iterable of bytes.
        name: name of the file for messages.
        limits: the `Limits`.

    Raises:
        ValueError: if the text is beyond a limit or not UTF-8.
    """
    for block in line_blocks(_with_line_feeds(chunks), name, limits):
        yield from block


def read_lines(path, limits):
    """Returns the lines of a UTF-8 text file, a list; see `open_limited` and `text_lines`."""
    with open_limited(path, limits) as chunks:
        return list(text_lines(chunks, path.name, limits))


def _with_line_feeds(chunks):
    """Replaces carriage returns if the first chunk has no other line break."""
    carriage_returns = None
    for chunk in chunks:
        if carriage_returns is None:
            carriage_returns = b"\n" not in chunk
        yield chunk.replace(b"\r", b"\n") if carriage_returns else chunk


def line_blocks(chunks, name, limits):
    """Splits UTF-8 text into lines while it is read.

    Args:
        chunks: iterable of bytes.
        name: name of the file for messages.
        limits: the `Limits`.

    Yields:
        Lists of lines without their line feed, as soon as the lines are complete.

    Raises:
        ValueError: if a line is too long, there are too many, or the text is not UTF-8.
    """
    number, rest = 0, bytearray()  # lines so far, and the beginning of an unfinished line
    for chunk in chunks:
        complete, line_feed, end = chunk.rpartition(b"\n")
        if line_feed:
            lines = decode_lines(bytes(rest) + complete, name, number, limits)
            number += len(lines)
            rest.clear()
            yield lines
        rest += end
        limits.check_line_bytes(len(rest), f"line {number + 1} of {name}")
    if rest.removeprefix(codecs.BOM_UTF8 if number == 0 else b""):
        yield decode_lines(bytes(rest), name, number, limits)


def decode_lines(data, name, previous_lines, limits):
    """Decodes UTF-8 text and splits it at line feeds only.

    Args:
        data: the text, bytes, without the last line feed.
        name: name of the file for messages.
        previous_lines: number of lines before this text in the file.
        limits: the `Limits`.

    Returns:
        List of texts.

    Raises:
        ValueError: if a line is too long, there are too many, or the text is not UTF-8.
    """
    refuse_utf16(data, name, previous_lines)
    limits.check_lines(previous_lines + data.count(b"\n") + 1, name)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = previous_lines + data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"line {line} of {name} is not UTF-8; save the file as UTF-8. "
            f"Received: byte 0x{data[error.start]:02x}"
        ) from error
    lines = (text if previous_lines else text.removeprefix("\ufeff")).split("\n")
    # Few texts, chunks of 64 KiB, are long enough to need the slower comparison.
    if len(text) > limits.max_line and len(max(lines, key=len)) > limits.max_line:
        for number, line in enumerate(lines, start=previous_lines + 1):
            limits.check_line(len(line.removesuffix("\r")), f"line {number} of {name}")
    return lines


def refuse_utf16(data, name, previous_lines=0):
    """Raises a ValueError if the beginning of a text file is in UTF-16.

    Args:
        data: bytes of the file that begin with a line.
        name: name of the file for messages.
        previous_lines: number of lines before these bytes.
    """
    # The line feed between the first two lines has a zero byte before or after it in UTF-16.
    # Further zero bytes may be stray ones in UTF-8.
    if previous_lines >= 2:
        return
    number = 2 - previous_lines
    head = data.split(b"\n", number)[:number]
    marked = not previous_lines and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if marked or any(b"\0" in line for line in head):
        received = "a byte order mark of UTF-16" if marked else "zero bytes in the first lines"
        raise ValueError(f"{name} looks like UTF-16; save the file as UTF-8. Received: {received}")
