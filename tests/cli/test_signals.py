"""Signals and closed streams: commands end as Unix tools do, without a traceback."""

import signal
import subprocess
import sys

import pytest

from keras_transformer import cli

# Runs a subcommand with another function, in a process of its own.
RUN = """
import sys
from keras_transformer import cli
from keras_transformer.cli import plot

def run(arguments):
    {body}

plot.run = run
cli.main(["plot", "run"])
"""


def command(body, redirection=""):
    """Runs a command whose function has this body, with redirected streams."""
    shell = f'"$0" -c "$1" {redirection}'
    arguments = ["bash", "-o", "pipefail", "-c", shell, sys.executable, RUN.format(body=body)]
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_with_one_line(monkeypatch, capsys, number):
    handlers = [signal.getsignal(x) for x in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr("keras_transformer.cli.plot.run", lambda _: signal.raise_signal(number))
    with pytest.raises(SystemExit) as ended:
        cli.main(["plot", "run"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "keras-transformer plot: interrupted\n"
    assert [signal.getsignal(x) for x in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_second_signal_ends_a_command_that_catches_the_first():
    done = command(
        """import os, signal
    for _ in range(2):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            pass
    print("not reached")"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_background_process_keeps_ignoring_ctrl_c():
    body = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('done')"
    done = command(body, "& wait $!")  # a shell without job control sets the signal to ignored
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_closed_pipe_ends_a_command_silently():
    body = "[print('line', i, flush=True) for i in range(100_000)]"
    done = command(body, "| head -n 1")
    assert (done.returncode, done.stdout, done.stderr) == (141, "line 0\n", "")


@pytest.mark.parametrize("redirection", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_the_null_device(tmp_path, redirection):
    """Otherwise the file would be opened as standard output or error, and get its messages."""
    file = tmp_path / "file"
    body = (
        f"file = open({str(file)!r}, 'w'); file.write('data'); file.flush();"
        "print('out'); print('err', file=sys.stderr); sys.stdin.read(); assert file.fileno() > 2"
    )
    done = command(body, redirection)
    assert done.returncode == 0
    assert done.stdout == ("" if ">&-" in redirection.split() else "out\n")
    assert file.read_text() == "data"


def test_an_encoding_without_a_character_does_not_end_a_command(monkeypatch):
    """The encoding of a pipe on Windows has no arrow, which samples of translations show."""
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    done = command("print('a \u2192 b')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a \\u2192 b\n", "")


def test_a_full_disk_behind_standard_output_is_reported():
    done = command("print('out')", "> /dev/full")
    assert done.returncode == 2
    assert done.stderr == "keras-transformer plot: error: [Errno 28] No space left on device\n"
