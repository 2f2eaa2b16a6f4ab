"""A worker translates shards as `Translate` does, or says what is wrong and writes nothing."""

import dataclasses
import gzip

import pytest
from full_disk import full_disk
from translating import shared_translate, write_run

from keras_transformer.bulk.job import Job, digest_run
from keras_transformer.bulk.worker import ShardWorker

SENTENCES = ["one two", "", "three", "five four one", "two"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write_run(folder)
    return folder


@pytest.fixture
def loaded(monkeypatch):
    """Saves the time of loading the run."""
    monkeypatch.setattr("keras_transformer.bulk.worker._load", lambda job: shared_translate())


@pytest.fixture
def make_job(run, tmp_path):
    def make(**changes):
        defaults = {
            "weights": "best",
            "model": None,
            "options": {},
            "column": None,
            "with_scores": False,
        }
        digest = digest_run(run, "best")
        job = Job(run, output=tmp_path / "out", data_limits=1.0, digest=digest, **defaults)
        job = dataclasses.replace(job, **changes)
        job.begin()
        return job

    return make


def write(path, lines=SENTENCES):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def outputs(job):
    return sorted(path.name for path in job.output.iterdir() if path.is_file())


@pytest.mark.slow
def test_a_shard_is_translated_line_by_line(make_job, tmp_path):
    job, worker = (job := make_job()), ShardWorker(job, {})
    shard = write(tmp_path / "part.txt")
    result = worker.translate(shard)
    assert (result.lines, result.error) == (len(SENTENCES), None)
    expected = [shared_translate()(SENTENCES[i]) for i in range(len(SENTENCES))]
    assert job.output_file(shard).read_text(encoding="utf-8").split("\n") == [*expected, ""]
    assert job.shard_report(shard).read_text() == "" and outputs(job) == ["part.txt"]


@pytest.mark.slow
def test_scores_and_several_translations_are_those_of_a_beam_search(loaded, make_job, tmp_path):
    options = {"beam_size": 3, "n_best": 2}
    job = make_job(options=options, with_scores=True)
    shard = tmp_path / "part.gz"
    shard.write_bytes(gzip.compress(b"one two\nthree"))
    assert ShardWorker(job, {}).translate(shard).error is None
    text = gzip.decompress(job.output_file(shard).read_bytes()).decode()
    expected = [
        "\t".join(f"{x.score:.3f}\t{x.text}" for x in hypotheses)
        for hypotheses in shared_translate().hypotheses(["one two", "three"], **options)
    ]
    assert text == "".join(f"{line}\n" for line in expected)


def test_lines_that_cannot_be_translated_are_empty_and_reported(loaded, make_job, tmp_path):
    job, shard = make_job(), tmp_path / "part.txt"
    lines = [b"one", b"two " * 1025, b"f\xfcr", b"x" * 100_001, b"three"]
    shard.write_bytes(b"\n".join(lines) + b"\n")
    assert ShardWorker(job, {}).translate(shard) == (5, None, False)
    first, last = shared_translate()(["one"]) + shared_translate()(["three"])
    text = job.output_file(shard).read_text(encoding="utf-8")
    assert text == f"{first}\n\n\n\n{last}\n"
    assert job.shard_report(shard).read_text().splitlines() == [
        "2\tmore than 1,024 tokens",
        "3\tnot UTF-8: byte 0xfc",
        "4\tmore than 100,000 characters",
    ]


def test_a_shard_that_cannot_be_read_does_not_end_the_job(loaded, make_job, tmp_path):
    job, worker = (job := make_job()), ShardWorker(job, {})
    missing, bad = tmp_path / "missing.txt", tmp_path / "bad.gz"
    bad.write_bytes(gzip.compress(b"one\n" * 10_000)[:-9])
    for shard, message in ((missing, "No such file"), (bad, "expected gzip data")):
        lines, error, is_fatal = worker.translate(shard)
        assert message in error and "\n" not in error
        assert (lines, is_fatal, outputs(job)) == (0, False, [])
    assert worker.translate(write(tmp_path / "part.txt")).error is None


def test_a_full_disk_ends_the_job_and_leaves_nothing(loaded, make_job, tmp_path):
    job, worker = (job := make_job()), ShardWorker(job, {})
    shard = write(tmp_path / "part.txt", ["one two three"] * 500)
    with full_disk(1000):
        result = worker.translate(shard)
    assert result.is_fatal and "part.txt could not be written: " in result.error
    assert outputs(job) == []
    assert not job.shard_report(shard).exists()
    assert worker.translate(shard).error is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": "0.0"}, "same version of keras_transformer, 0.0. Received: version"),
        ({"digest": "other"}, "run folder must be the same on all machines"),
        ({"run": "missing"}, "Received: missing/weights/best.weights.h5, which does not exist"),
        ({"data_limits": 1.0}, "output folder must be shared by all machines"),
    ],
)
def test_another_machine_says_what_differs(make_job, tmp_path, changes, message):
    job = make_job(**changes)
    if "data_limits" in changes:
        job.settings_file.unlink()
    worker = ShardWorker(job, {})
    for _ in range(2):
        result = worker.translate(write(tmp_path / "part.txt"))
        assert result.is_fatal and message in result.error and " (on host " in result.error
    assert outputs(job) == []
