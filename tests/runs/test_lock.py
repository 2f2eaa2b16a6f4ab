import os
import socket
import subprocess
import sys

import pytest

from keras_transformer.runs.lock import training_lock

HOLD = """
import sys
from keras_transformer.runs.lock import training_lock
with training_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Starts a process that holds the lock of a folder."""
    command = [sys.executable, "-c", HOLD, tmp_path / "run"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_and_the_holder_is_named(tmp_path, holder):
    expected = f"by process {holder.pid} on host {socket.gethostname()}: .*Received: .*run$"
    with pytest.raises(BlockingIOError, match=expected), training_lock(tmp_path / "run"):
        pass
    with training_lock(tmp_path / "another run"):
        pass


def test_a_killed_process_leaves_no_lock(tmp_path, holder):
    holder.kill()
    holder.wait()
    with training_lock(tmp_path / "run"):
        pass


def test_an_exception_releases_the_lock(tmp_path):
    for _ in range(2):
        with pytest.raises(KeyError), training_lock(tmp_path / "run"):
            raise KeyError("as Ctrl-C does")
    assert not os.path.exists(tmp_path / "run")
