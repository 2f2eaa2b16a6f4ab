"""Reads sentences from files and terminals, and shows progress."""

import contextlib
import io
import os
import sys

import keras


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
        ValueError: if the text is not valid UTF-8.
    """
    if path is None and sys.stdin.isatty():
        yield from _read_terminal(prompt)
        return
    name = "standard input" if path is None else path
    try:
        with _open(path) as lines:
            for line in lines:
                yield line.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} must be in UTF-8: {error}. Received: {name}") from error


@contextlib.contextmanager
def _open(path):
    text = {"encoding": "utf-8-sig", "newline": "\n"}
    if path is not None:
        with open(path, **text) as lines:
            yield lines
    elif hasattr(sys.stdin, "buffer"):
        # Reads UTF-8 regardless of the locale.
        lines = io.TextIOWrapper(sys.stdin.buffer, **text)
        try:
            yield lines
        finally:
            lines.detach()  # keeps standard input open
    else:
        yield sys.stdin


def _read_terminal(prompt):
    # If standard output is redirected to a file, the prompt must not end up there.
    screen = sys.stdout if sys.stdout.isatty() else sys.stderr
    with contextlib.suppress(EOFError):  # Ctrl-D
        while True:
            with contextlib.redirect_stdout(screen):
                line = input(prompt)
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
    with open(path, "rb") as file:
        total = sum(1 for _ in file)
    with contextlib.redirect_stdout(sys.stderr):
        bar = keras.utils.Progbar(total, unit_name="line")
    for done, result in enumerate(results, start=1):
        yield result
        if done % 100 == 0 or done == total:
            with contextlib.redirect_stdout(sys.stderr):
                bar.update(done, finalize=done == total)
