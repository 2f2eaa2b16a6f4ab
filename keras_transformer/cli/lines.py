"""Reads sentences from arguments, files and terminals, and shows progress."""

import contextlib
import math
import os
import sys

import keras

from keras_transformer.data.limits import Limits, limited_chunks, line_blocks

# A file may be an endless pipe, but an endless line would exhaust the memory.
_LIMITS = Limits(max_bytes=math.inf, max_lines=math.inf, advice="split the line")


def decode_arguments(texts):
    """Decodes the texts of command-line arguments as UTF-8.

    Without a UTF-8 locale, Python represents the bytes of an argument outside ASCII by surrogates.

    Args:
        texts: list of arguments.

    Returns:
        List of texts.

    Raises:
        ValueError: if an argument is not UTF-8.
    """
    return [_decode_argument(text) for text in texts]


def _decode_argument(text):
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        raise ValueError(
            "Sentences must be in UTF-8: set the terminal to UTF-8, or save them as a UTF-8 file. "
            f"Received: {text[:60]!r}"
        ) from None


def read_lines(path=None, prompt=""):
    """Reads sentences line by line.

    Args:
        path: path of a UTF-8 text file with one sentence per line. Defaults to standard input.
        prompt: prompt to show if standard input is a terminal.

    Yields:
        Each line without its line break. Only LF and CRLF end a line; other Unicode line
        separators are kept.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if the text is not valid UTF-8, or a line has more than 100,000 characters.
    """
    if path is None and sys.stdin.isatty():
        yield from _read_terminal(prompt)
        return
    name = "standard input" if path is None else path
    with _open(path) as read:
        for lines in line_blocks(limited_chunks(read, name, _LIMITS), name, _LIMITS):
            yield from (line.removesuffix("\r") for line in lines)


@contextlib.contextmanager
def _open(path):
    """Yields a function that reads at most a number of bytes, without waiting for all of them."""
    if path is not None:
        with open(path, "rb") as file:
            yield file.read1
    elif hasattr(sys.stdin, "buffer"):
        # Reads UTF-8 regardless of the locale.
        yield sys.stdin.buffer.read1
    else:
        yield lambda size: sys.stdin.readline(size).encode("utf-8", "surrogatepass")


def _read_terminal(prompt):
    # If standard output is redirected to a file, the prompt must not end up there.
    screen = sys.stdout if sys.stdout.isatty() else sys.stderr
    with contextlib.suppress(EOFError):  # Ctrl-D
        while True:
            with contextlib.redirect_stdout(screen):
                line = input(prompt)
            if line.strip().lower() in ("quit", "exit"):
                return
            yield line


def progress(results, path=None):
    """Yields results and shows a progress bar on standard error.

    Shows no bar if standard error is not a terminal, if the results themselves are printed to a
    terminal, or if `path` is not a regular file.

    Args:
        results: an iterable with one entry per line of the file.
        path: path of the file, whose lines are counted. Defaults to no progress bar.

    Yields:
        The results.
    """
    visible = sys.stderr.isatty() and not sys.stdout.isatty()
    # Counting lines reads the file a second time, which a pipe does not allow.
    if path is None or not visible or not os.path.isfile(path):
        yield from results
        return
    total = _count_lines(path)
    with contextlib.redirect_stdout(sys.stderr):
        bar = keras.utils.Progbar(total, unit_name="line")
    for done, result in enumerate(results, start=1):
        yield result
        if done % 100 == 0 or done == total:
            with contextlib.redirect_stdout(sys.stderr):
                bar.update(done, finalize=done == total)


def _count_lines(path):
    """Counts the lines of a file, of any length."""
    lines, last = 0, b"\n"
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            lines, last = lines + chunk.count(b"\n"), chunk[-1:]
    return lines + (last != b"\n")
