from pathlib import Path
from typing import NamedTuple

import pytest
from run_script import script_result

from keras_transformer.data.pairs import read_pairs

ROOT = Path(__file__).resolve().parents[2]
TEXT = "English\tGerman\nHi.\tGrüß Gott!\n12!\tZwölf!\nThe dove.\tDie Taube.\n"


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def shared(name):
    path = ROOT.parent / "shared" / "data" / name
    if not path.exists():
        pytest.skip(f"needs the shared data file {name}")
    return path


@pytest.fixture
def prepare(tmp_path):
    (tmp_path / "pairs.txt").write_text(TEXT, encoding="utf-8")

    def prepare(*arguments):
        return Done(*script_result("prepare_data.py", *arguments, folder=tmp_path))

    return prepare


def assert_refused(done, *parts):
    """Checks for exit status 2 and a single line that names the error."""
    assert done.returncode == 2 and "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("prepare_data.py: error: ")
    assert all(part in line for part in parts)


@pytest.mark.parametrize("name", ["out.pkl", "out.tsv"])
def test_cleans_a_file(prepare, tmp_path, name):
    done = prepare("pairs.txt", name)
    assert done.returncode == 0
    read, source, target, counts, *rest = done.stdout.splitlines()
    assert read == "read    3 pairs" and "Latin 100.0%; first: 'Hi.'" in source
    assert target.startswith("target: 5 words") and counts.startswith("0 duplicate pairs")
    assert rest == [
        "dropped 1 pairs: empty source or target after cleaning",
        f"written 2 pairs to {name}",
    ]
    assert read_pairs(tmp_path / name) == [("hi", "gru gott"), ("the dove", "die taube")]


def test_without_an_output_it_only_describes(prepare, tmp_path):
    (tmp_path / "mine.csv").write_text("id,EN,DE\n1,Hi.,Hallo!\n", encoding="utf-8")
    done = prepare("mine.csv", "--columns", "de", "en")
    assert done.returncode == 0 and "source: 1 words; letters: Latin 100.0%; first: 'Hallo!'" in (
        done.stdout.splitlines()
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv", "pairs.txt"]


def test_options_keep_case_punctuation_and_letters(prepare, tmp_path):
    kept = prepare("pairs.txt", "out.tsv", "--keep-case", "--keep-punctuation", "--keep-letters")
    assert kept.returncode == 0 and "dropped 0 pairs" in kept.stdout
    assert read_pairs(tmp_path / "out.tsv") == read_pairs(tmp_path / "pairs.txt")
    letters = prepare("pairs.txt", "out.tsv", "--keep-letters")
    assert letters.returncode == 0
    assert read_pairs(tmp_path / "out.tsv") == [("hi", "grüß gott"), ("the dove", "die taube")]


def test_a_file_in_another_script_says_which_flag_keeps_it(prepare, tmp_path):
    (tmp_path / "russian.tsv").write_text("Привет!\tHello!\n", encoding="utf-8")
    assert_refused(prepare("russian.tsv", "out.tsv"), "100% of the letters", "--keep-letters")
    assert not (tmp_path / "out.tsv").exists()
    assert prepare("russian.tsv", "out.tsv", "--keep-letters").returncode == 0
    assert read_pairs(tmp_path / "out.tsv") == [("привет", "hello")]


def test_reads_two_parallel_files(prepare, tmp_path):
    (tmp_path / "a.en").write_text("Hi.\nGo on.\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("Hallo!\nMach weiter.\n", encoding="utf-8")
    assert prepare("a.en", "out.tsv", "--target-file", "a.de").returncode == 0
    assert read_pairs(tmp_path / "out.tsv") == [("hi", "hallo"), ("go on", "mach weiter")]


@pytest.mark.exhaustive
def test_reproduces_the_published_dataset(prepare, tmp_path):
    source, published = shared("deu.txt"), shared("english-german-both.pkl")
    assert prepare(source, "out.pkl").returncode == 0
    assert read_pairs(tmp_path / "out.pkl") == read_pairs(published)


def test_unreadable_files_are_refused(prepare, tmp_path):
    assert_refused(prepare("missing.txt", "out.tsv"), "missing.txt")
    (tmp_path / "bad.txt").write_bytes(b"a\tb\nc\t\xff\n")
    assert_refused(prepare("bad.txt", "out.tsv"), "bad.txt", "line 2", "0xff")
    (tmp_path / "one.txt").write_text("a\tb\nonly one\n", encoding="utf-8")
    assert_refused(prepare("one.txt", "out.tsv"), "one.txt", "line 2")
    (tmp_path / "bad.pkl").write_bytes(b"\x80\x04nothing")
    assert_refused(prepare("bad.pkl", "out.tsv"), "bad.pkl")
    (tmp_path / "utf16.txt").write_text(TEXT, encoding="utf-16-le")
    assert_refused(prepare("utf16.txt", "out.tsv"), "utf16.txt", "looks like UTF-16")
    assert not (tmp_path / "out.tsv").exists()


def test_limits_of_the_input_can_be_raised(prepare, tmp_path):
    (tmp_path / "long.tsv").write_text(f"{'a' * 100_000}\tb\n", encoding="utf-8")
    assert_refused(prepare("long.tsv", "out.tsv"), "long.tsv", "100,000 char", "--data-limits")
    assert prepare("long.tsv", "out.tsv", "--data-limits", "1.5").returncode == 0
    assert "written" in prepare("out.tsv", "out.pkl", "--data-limits", "2").stdout
    assert_refused(
        prepare("out.tsv", "x.tsv", "--data-limits", "1e9"), "`data_limits`", "1000000000"
    )


def test_unwritable_outputs_are_refused(prepare, tmp_path):
    assert_refused(prepare("pairs.txt", "out.csv"), "out.csv")
    assert_refused(prepare("pairs.txt", "./pairs.txt"), "must not be an input")
    assert_refused(prepare("pairs.txt", "pairs.txt/out.tsv"), "pairs.txt")
    assert (tmp_path / "pairs.txt").read_text(encoding="utf-8") == TEXT


def test_an_empty_result_is_refused(prepare, tmp_path):
    (tmp_path / "numbers.tsv").write_text("12\t12\n", encoding="utf-8")
    assert_refused(prepare("numbers.tsv", "out.tsv"), "at least one pair")


def test_missing_arguments_show_the_usage(prepare):
    done = prepare()
    assert done.returncode == 2 and "usage: prepare_data.py" in done.stderr
    assert "Traceback" not in done.stderr
