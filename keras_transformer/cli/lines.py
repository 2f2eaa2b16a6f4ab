"""Sentences from files and terminals, and how far their translation is."""

import contextlib
import io
import os
import sys

import keras


def read_lines(path=None, prompt=""):
    """Reads sentences one by one.

    Args:
        path: a text file in UTF-8, one sentence a line; None: standard input.
        prompt: what a terminal shows before each sentence.

    Yields:
        Each line without its end. Signs inside a line that some programs take for its end stay.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not in UTF-8.
    """
    if path is None and sys.stdin.isatty():
        yield from _ask(prompt)
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
        # Read as a file is, whatever the locale.
        lines = io.TextIOWrapper(sys.stdin.buffer, **text)
        try:
            yield lines
        finally:
            lines.detach()  # it stays open
    else:
        yield sys.stdin


def _ask(prompt):
    # What is redirected to a file shall hold nothing but what is printed.
    screen = sys.stdout if sys.stdout.isatty() else sys.stderr
    with contextlib.suppress(EOFError):  # Ctrl-D
        while True:
            with contextlib.redirect_stdout(screen):
                line = input(prompt)
            yield line


def progress(results, path=None):
    """Passes results on and shows how many of a file's lines are done, if that does no harm.

    Args:
        results: an iterable with an entry for each line.
        path: the file; None: there is nothing to show.

    Yields:
        The results.
    """
    # On a terminal where the results are printed, they show it. A pipe can be read but once.
    shows = sys.stderr.isatty() and not sys.stdout.isatty()
    if path is None or not shows or not os.path.isfile(path):
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
