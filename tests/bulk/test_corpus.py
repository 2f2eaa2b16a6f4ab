"""The command on Ray: what is killed is done again, and errors are one line."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_script import SCRIPTS, run_script

from keras_transformer.data.corpus import bundled_run_path, corpus_path
from keras_transformer.runs.lock import folder_lock

SHARDS, SIZE = 6, 500


@pytest.fixture
def ray():
    return pytest.importorskip("ray", reason="needs Ray: pip install -e '.[ray]'")


@pytest.fixture
def corpus(tmp_path):
    lines = corpus_path().read_text(encoding="utf-8").splitlines()[: SHARDS * SIZE]
    sentences = [line.split("\t")[0] for line in lines]
    (tmp_path / "in").mkdir()
    for i in range(SHARDS):
        text = "\n".join(sentences[i * SIZE : (i + 1) * SIZE]) + "\n"
        (tmp_path / "in" / f"part-{i}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def translate(folder, *flags, **environment):
    """Starts the command."""
    command = ("translate_corpus.py", bundled_run_path(), "in", "--output", "out", *flags)
    return subprocess.Popen(
        [sys.executable, str(SCRIPTS / command[0]), *map(str, command[1:])],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def workers():
    """Returns the ids of the processes that translate."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::ShardWorker.translate"):
                found.append(int(path.parent.name))
        except OSError:
            pass  # it has ended
    return found


def translated(folder):
    files = sorted((folder / "out").glob("part-*"))
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="finds the processes to kill in /proc")
def test_killed_processes_change_nothing(ray, corpus):
    """A worker is killed, then the command, then a second start does what is missing."""
    process = translate(corpus, "--actors", "1")
    wait_for(lambda: len(translated(corpus)) >= 1)
    os.kill(wait_for(workers)[0], signal.SIGKILL)
    wait_for(lambda: len(translated(corpus)) >= 3)
    process.kill()
    process.communicate()
    before = {path: path.stat().st_mtime_ns for path in (corpus / "out").glob("part-?.txt")}
    assert 3 <= len(before) < SHARDS
    output = finish(translate(corpus, "--actors", "1"))
    assert output == f"{SHARDS} shards in out\n"
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    assert not list((corpus / "out").glob("partial-*"))
    text = b"".join(translated(corpus).values()).decode()
    everything = "".join(x.read_text() for x in sorted((corpus / "in").iterdir()))
    (corpus / "all.txt").write_text(everything, encoding="utf-8")
    arguments = (bundled_run_path(), "--file", "all.txt")
    assert text == run_script("translate.py", *arguments, folder=corpus)


@pytest.mark.slow
def test_a_shard_that_vanishes_costs_only_itself(ray, corpus):
    process = translate(corpus, "--actors", "1")
    wait_for(lambda: (corpus / "out/_job/settings.json").exists())
    (corpus / "in/part-5.txt").unlink()
    _, errors = process.communicate()
    assert process.returncode == 2 and len(translated(corpus)) == SHARDS - 1
    assert "error: 1 of 6 shards could not be translated; start" in errors.splitlines()[-1]


@pytest.mark.slow
def test_a_wrong_address_is_one_line(ray, corpus):
    process = translate(corpus, RAY_ADDRESS="127.0.0.1:1")
    _, errors = process.communicate()
    assert process.returncode == 2
    last = errors.splitlines()[-1]
    assert "error: The Ray cluster at RAY_ADDRESS=127.0.0.1:1 cannot be joined. Received: " in last
    assert translated(corpus) == {}


def test_two_commands_cannot_write_one_folder(ray, corpus):
    with folder_lock(corpus / "out", "This output folder is being written"):
        arguments = (bundled_run_path(), "in", "--output", "out")
        errors = run_script("translate_corpus.py", *arguments, folder=corpus, expected=2)
    assert f"error: This output folder is being written by process {os.getpid()} " in errors


def test_nothing_is_started_if_nothing_is_missing(ray, corpus):
    arguments = (bundled_run_path(), "in/part-0.txt", "--output", "out")
    (corpus / "out").mkdir()
    (corpus / "out/part-0.txt").touch()
    assert run_script("translate_corpus.py", *arguments, folder=corpus) == "1 shards in out\n"


def test_a_missing_package_is_named(monkeypatch, corpus):
    monkeypatch.delitem(sys.modules, "keras_transformer.bulk.corpus", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    arguments = (bundled_run_path(), "in", "--output", "out")
    errors = run_script("translate_corpus.py", *arguments, folder=corpus, expected=2)
    assert "error: A large corpus needs Ray: run pip install 'keras3-transformer[ray]'" in errors
