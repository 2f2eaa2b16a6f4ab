"""Reading of sentences from arguments, files and terminals, and display of progress."""

import io
import os
import sys

import pytest
from run_script import Terminal

from keras_transformer.cli.lines import decode_arguments, progress, read_lines

FILES = {
    "lines": (b"one\ntwo\n", ["one", "two"]),
    "no final newline": (b"one\ntwo", ["one", "two"]),
    "Windows": (b"\xef\xbb\xbfone\r\ntwo\r\n", ["one", "two"]),
    "Windows, no final newline": (b"one\r\ntwo\r", ["one", "two"]),
    "empty lines": (b"\n\none\n\n", ["", "", "one", ""]),
    "spaces are kept": (b" one \n\t\n", [" one ", "\t"]),
    "empty": (b"", []),
    "only a byte order mark": (b"\xef\xbb\xbf", []),
    "other separators inside": (
        "a\u2028b\nc\x85d\x0ce\x0bf\x1cg\u2029h\n".encode(),
        ["a\u2028b", "c\x85d\x0ce\x0bf\x1cg\u2029h"],
    ),
    "a carriage return inside": (b"a\rb\nc\n", ["a\rb", "c"]),
    "other byte order marks are kept": ("a\ufeffb\nü\n".encode(), ["a\ufeffb", "ü"]),
}


@pytest.mark.parametrize(("content", "lines"), FILES.values(), ids=FILES)
def test_a_file_has_one_sentence_per_line(tmp_path, content, lines):
    path = tmp_path / "lines.txt"
    path.write_bytes(content)
    assert list(read_lines(path)) == list(read_lines(str(path))) == lines


def test_a_file_is_read_line_by_line_and_closed(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one\n" * 100_000 + b"\xff\n")
    lines = read_lines(path)
    assert [next(lines) for _ in range(3)] == ["one"] * 3  # the invalid last line is not read yet
    lines.close()


REFUSED = {
    "Latin-1": (b"one\nf\xfcr\n", "line 2 of {} is not UTF-8; save the file as UTF-8"),
    "cut off": (b"a\xc3", "line 1 of {} is not UTF-8"),
    "UTF-16": ("one\ntwo\n".encode("utf-16"), "{} looks like UTF-16; save the file as UTF-8"),
    "UTF-16 without BOM": ("one\n".encode("utf-16-le"), "{} looks like UTF-16"),
    "a long line": (b"one\n" + b"x" * 100_001, "line 2 of {} must have at most 100,000 char"),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED)
def test_other_encodings_and_long_lines_are_refused(monkeypatch, tmp_path, content, message):
    path = tmp_path / "lines.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message.format(path)):
        list(read_lines(path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="latin-1"))
    with pytest.raises(ValueError, match=message.format("standard input")):
        list(read_lines())


def test_an_endless_line_is_refused():
    with pytest.raises(ValueError, match=r"line 1 of /dev/zero must .*; split the line\."):
        list(read_lines("/dev/zero"))


def test_a_line_of_a_pipe_is_read_before_the_next_is_written():
    read_end, write_end = os.pipe()
    lines = read_lines(f"/dev/fd/{read_end}")
    for text in ("one", "two"):
        os.write(write_end, f"{text}\n".encode())
        assert next(lines) == text
    os.close(write_end)
    os.close(read_end)


def test_missing_files_and_folders_are_errors(tmp_path):
    for path in (tmp_path / "missing.txt", tmp_path):
        with pytest.raises(OSError, match=str(path)):
            list(read_lines(path))


def test_standard_input_is_read_to_its_end(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\n\ntwo\u2028three"))
    assert list(read_lines(prompt="Sentence: ")) == ["one", "", "two\u2028three"]
    assert capsys.readouterr() == ("", "")  # no prompt without a terminal


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize(("content", "lines"), FILES.values(), ids=FILES)
def test_standard_input_is_read_like_a_file(monkeypatch, content, lines, encoding):
    stdin = io.TextIOWrapper(io.BytesIO(content), encoding=encoding)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert list(read_lines()) == lines
    assert list(read_lines()) == [] and not stdin.closed


@pytest.mark.parametrize("screen", [Terminal, io.StringIO])
def test_the_prompt_is_never_written_to_redirected_output(monkeypatch, screen):
    output, errors = screen(), Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("one\ntwo\n"))
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(sys, "stderr", errors)
    lines = read_lines(prompt="Sentence: ")
    assert next(lines) == "one"
    prompted = output if screen is Terminal else errors
    assert prompted.getvalue() == "Sentence: "  # the next prompt waits for the next request
    assert list(lines) == ["two"]
    both = (output.getvalue(), errors.getvalue())
    assert sorted(both) == ["", "Sentence: " * 3]


# Arguments


def test_arguments_are_decoded_as_utf8():
    escaped = "für 😀".encode().decode("ascii", "surrogateescape")  # as in a locale without UTF-8
    assert escaped != "für 😀"
    assert decode_arguments([escaped, "grün", "go"]) == ["für 😀", "grün", "go"]


@pytest.mark.parametrize("text", ["f\udcfcr", "\ud83d"])
def test_arguments_in_another_encoding_are_refused(text):
    with pytest.raises(ValueError, match=r"must be in UTF-8: set the terminal.*Received: '.*\\ud"):
        decode_arguments(["go", text])


# Progress


@pytest.fixture
def screens(monkeypatch):
    def set_screens(output, errors):
        monkeypatch.setattr(sys, "stdout", output)
        monkeypatch.setattr(sys, "stderr", errors)
        return output, errors

    return set_screens


def write_lines(folder, number):
    path = folder / "lines.txt"
    path.write_text("".join(f"{i}\n" for i in range(number)))
    return path


@pytest.mark.parametrize("output", [Terminal, io.StringIO])
@pytest.mark.parametrize("errors", [Terminal, io.StringIO])
@pytest.mark.parametrize("number", [0, 1, 250])
def test_progress_yields_all_results(tmp_path, screens, number, output, errors):
    output, errors = screens(output(), errors())
    path = write_lines(tmp_path, number)
    assert list(progress(iter(range(number)), path)) == list(range(number))
    assert output.getvalue() == ""
    shown = number and errors.isatty() and not output.isatty()
    assert (f"{number}/{number}" in errors.getvalue()) == bool(shown)
    if not shown:
        assert errors.getvalue() == ""


def test_progress_counts_only_consumed_results(tmp_path, screens):
    screens(io.StringIO(), Terminal())
    results = progress(iter(range(250)), write_lines(tmp_path, 250))
    assert [next(results) for _ in range(100)] == list(range(100))
    assert sys.stderr.getvalue() == ""
    assert next(results) == 100
    assert "100/250" in sys.stderr.getvalue()


def test_no_progress_is_shown_without_a_file(screens):
    output, errors = screens(io.StringIO(), Terminal())
    assert list(progress(iter("abc"))) == ["a", "b", "c"]
    assert output.getvalue() == errors.getvalue() == ""


@pytest.mark.parametrize("content", [b"one\ntwo", b"one\n\n", b"\n"])
def test_progress_counts_the_lines_of_a_file(tmp_path, screens, content):
    path = tmp_path / "lines.txt"
    path.write_bytes(content)
    _, errors = screens(io.StringIO(), Terminal())
    lines = list(progress(read_lines(path), path))
    assert lines == content.decode().removesuffix("\n").split("\n")
    assert f"{len(lines)}/{len(lines)}" in errors.getvalue()


def test_counting_lines_does_not_consume_a_pipe(screens):
    screens(io.StringIO(), Terminal())
    read_end, write_end = os.pipe()
    os.write(write_end, b"one\ntwo\n")
    os.close(write_end)
    path = f"/dev/fd/{read_end}"  # the path that a shell passes for <(command)
    assert list(progress(read_lines(path), path)) == ["one", "two"]
    os.close(read_end)
