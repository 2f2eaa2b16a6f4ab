"""The shards of a corpus, the settings of its output folder, and the report."""

import dataclasses

import pytest

from keras_transformer._utils.reading import read_json
from keras_transformer.bulk.job import Job, digest_run, find_shards


@pytest.fixture
def job(tmp_path):
    return Job(
        model=None,
        run=tmp_path / "run",
        weights="best",
        output=tmp_path / "out",
        options={"beam_size": 4},
        column=None,
        with_scores=False,
        data_limits=1.0,
        digest="abc",
    )


def touch(*paths):
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.touch()


def test_shards_are_files_and_the_files_of_folders(tmp_path):
    names = ("b.txt", "a.tsv.gz", "c.parquet", ".hidden", "_SUCCESS")
    touch(*(tmp_path / "in" / name for name in names), tmp_path / "d.txt")
    found = find_shards([tmp_path / "d.txt", tmp_path / "in"], tmp_path / "out")
    assert [path.name for path in found] == ["a.tsv.gz", "b.txt", "c.parquet", "d.txt"]
    assert all(path.is_absolute() for path in found)


@pytest.mark.parametrize(
    ("inputs", "output", "column", "message"),
    [
        (["missing"], "out", None, "No shard or folder of shards here. Received: .*missing"),
        (["empty"], "out", None, "Give at least one shard. Received: no files in"),
        (["in", "other"], "out", None, "name of its own.*in/a.txt and .*other/a.txt"),
        (["in"], "in", None, "must not be the folder of a shard"),
        (["reserved"], "out", None, "This name is reserved"),
        (["in"], "out", "2", "Only .tsv and .parquet have columns"),
        (["tsv"], "out", "0", "`column` must be an int from 1"),
        (["tsv"], "out", "en", "`column` must be an int from 1.*Received: column='en'"),
    ],
)
def test_wrong_inputs_are_refused(tmp_path, inputs, output, column, message):
    (tmp_path / "empty").mkdir()
    touch(*(tmp_path / name for name in ("in/a.txt", "other/a.txt", "tsv/a.tsv", "reserved/_job")))
    inputs = [tmp_path / x for x in inputs]
    inputs = [path / "_job" if path.name == "reserved" else path for path in inputs]
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        find_shards(inputs, tmp_path / output, column)


def test_an_output_folder_has_the_translations_of_one_kind(job):
    job = dataclasses.replace(job, options={"required_words": ("a",), "glossary": (("b", "c"),)})
    job.begin()
    job.begin()
    assert read_json(job.settings_file) == job.settings()
    for changes in (
        {"digest": "other"},
        {"model": "file.py:function"},
        {"options": {"beam_size": 5}},
        {"with_scores": True},
        {"column": "en"},
        {"version": "0.0"},
    ):
        with pytest.raises(ValueError, match="begun with other settings"):
            dataclasses.replace(job, **changes).begin()
    dataclasses.replace(job, run="moved", data_limits=2.0).begin()


def test_a_second_start_removes_what_killed_workers_left(job):
    job.begin()
    kept, left = job.output / "part.txt", job.output / "partial-0123-part.txt"
    touch(kept, left, job.shard_report(left))
    job.begin()
    assert kept.exists() and not left.exists() and not job.shard_report(left).exists()


def test_the_report_lists_the_lines_of_finished_shards(job, tmp_path):
    job.begin()
    for name in ("b.txt", "a.txt", "unfinished.txt"):
        touch(job.shard_report(tmp_path / name))
        job.shard_report(tmp_path / name).write_text("2\tnot UTF-8\n7\tmore than 1,024 tokens\n")
    touch(job.output / "a.txt", job.output / "b.txt")
    assert job.write_report() == 4
    header, *lines = job.report_file.read_text().splitlines()
    assert header == "shard\tline\treason"
    assert [line.split("\t")[:2] for line in lines] == [
        ["a.txt", "2"], ["a.txt", "7"], ["b.txt", "2"], ["b.txt", "7"],
    ]  # fmt: skip


def test_a_digest_changes_with_weights_and_tokenizers_only(tmp_path):
    files = [tmp_path / name for name in ("config.json", "source_tokenizer.json")]
    weights = tmp_path / "weights" / "best.weights.h5"
    with pytest.raises(FileNotFoundError, match=r"Received: .*best.weights.h5"):
        digest_run(tmp_path, "best")
    touch(*files, weights)
    digests = {digest_run(tmp_path, "best")}
    for path in (*files, weights):
        path.write_text("changed")
        digests.add(digest_run(tmp_path, "best"))
    assert len(digests) == 4
    (tmp_path / "history.csv").write_text("more")
    assert digest_run(tmp_path, "best") in digests
