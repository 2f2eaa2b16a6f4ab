"""The command on Ray: what is killed is done again, and errors are one line."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_script import SCRIPTS, refusal, run_script

from keras_transformer.data.corpus import bundled_run_path, corpus_path
from keras_transformer.runs.lock import folder_lock

SHARDS, SIZE = 6, 1000


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


@pytest.fixture
def translate(ray, corpus):
    """Starts commands; kills those that a failed test leaves running."""
    started = []

    def start(*flags, **environment):
        command = ("translate_corpus.py", bundled_run_path(), "in", "--output", "out", *flags)
        process = subprocess.Popen(
            [sys.executable, str(SCRIPTS / command[0]), *map(str, command[1:])],
            cwd=corpus,
            env={**os.environ, "RAY_ADDRESS": "", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def finish(process):
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output


def wait_for(process, condition):
    """Waits until a condition is true while a process runs."""
    while not (found := condition()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return found


def workers(command):
    """Returns the ids of the processes of a command that translate."""
    names, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            names[int(path.name)] = (path / "cmdline").read_bytes()
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass  # it has ended
    # A worker is a child of Ray's daemon, which is a child of the command.
    return [
        pid
        for pid, name in names.items()
        if name.startswith(b"ray::ShardWorker.translate")
        and parents.get(parents.get(pid)) == command.pid
    ]


def translated(folder):
    files = sorted((folder / "out").glob("part-*"))
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="finds the processes to kill in /proc")
def test_killed_processes_change_nothing(translate, corpus):
    """A worker is killed, then the command, then a second start does what is missing."""
    process = translate("--actors", "1")
    wait_for(process, lambda: len(translated(corpus)) >= 1)
    os.kill(wait_for(process, lambda: workers(process))[0], signal.SIGKILL)
    done = len(translated(corpus))
    wait_for(process, lambda: len(translated(corpus)) > done)
    process.kill()
    process.communicate()
    before = {path: path.stat().st_mtime_ns for path in (corpus / "out").glob("part-?.txt")}
    assert done < len(before) < SHARDS
    output = finish(translate("--actors", "1"))
    assert output == f"{SHARDS} shards in out\n"
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    assert not list((corpus / "out").glob("partial-*"))
    text = b"".join(translated(corpus).values()).decode()
    everything = "".join(x.read_text() for x in sorted((corpus / "in").iterdir()))
    (corpus / "all.txt").write_text(everything, encoding="utf-8")
    arguments = (bundled_run_path(), "--file", "all.txt")
    assert text == run_script("translate.py", *arguments, folder=corpus)


@pytest.mark.slow
def test_a_shard_that_vanishes_costs_only_itself(translate, corpus):
    process = translate("--actors", "1")
    wait_for(process, lambda: (corpus / "out/_job/settings.json").exists())
    (corpus / "in/part-5.txt").unlink()
    _, errors = process.communicate()
    assert process.returncode == 2 and len(translated(corpus)) == SHARDS - 1
    assert "error: 1 of 6 shards could not be translated; start" in errors.splitlines()[-1]


@pytest.mark.slow
def test_a_wrong_address_is_one_line(translate, corpus):
    process = translate(RAY_ADDRESS="127.0.0.1:1")
    _, errors = process.communicate()
    assert process.returncode == 2
    last = errors.splitlines()[-1]
    assert "error: The Ray cluster at RAY_ADDRESS=127.0.0.1:1 cannot be joined (if it asks" in last
    assert translated(corpus) == {}


@pytest.mark.slow
def test_two_commands_cannot_write_one_folder(ray, corpus):
    with folder_lock(corpus / "out", "This output folder is being written"):
        arguments = (bundled_run_path(), "in", "--output", "out")
        errors = refusal("translate_corpus.py", *arguments, folder=corpus)
    assert f"error: This output folder is being written by process {os.getpid()} " in errors


@pytest.mark.slow
def test_nothing_is_started_if_nothing_is_missing(ray, corpus):
    arguments = (bundled_run_path(), "in/part-0.txt", "--output", "out")
    (corpus / "out").mkdir()
    (corpus / "out/part-0.txt").touch()
    assert run_script("translate_corpus.py", *arguments, folder=corpus) == "1 shards in out\n"


@pytest.mark.parametrize(
    ("actors", "number", "message"), [(None, 0, "no CPU or GPU yet"), (3, 2, "for 2 actors only")]
)
def test_actors_that_would_wait_for_ever_are_refused(ray, actors, number, message):
    from keras_transformer.bulk.cluster import check_actors

    check_actors(None, "GPU", 2)
    with pytest.raises(OSError, match=message):
        check_actors(actors, "GPU", number)


def test_a_missing_package_is_named(monkeypatch, corpus):
    monkeypatch.delitem(sys.modules, "keras_transformer.bulk.cluster", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    arguments = (bundled_run_path(), "in", "--output", "out")
    errors = refusal("translate_corpus.py", *arguments, folder=corpus)
    assert "error: A large corpus needs Ray: run pip install 'keras3-transformer[ray]'" in errors
