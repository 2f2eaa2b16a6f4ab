import functools

import pytest
from run_script import refusal, run_script

from keras_transformer.data.pairs import read_pairs

TEXT = "English\tGerman\nHi.\tGrüß Gott!\n12!\tZwölf!\nThe dove.\tDie Taube.\n"


@pytest.fixture
def prepare(tmp_path):
    """A function that runs the script in a folder with a file of pairs; returns its output."""
    (tmp_path / "pairs.txt").write_text(TEXT, encoding="utf-8")
    return functools.partial(run_script, "prepare_data.py", folder=tmp_path)


@pytest.fixture
def refused(prepare, tmp_path):
    """A function that asserts that the script names some parts in its error message."""

    def check(arguments, *parts):
        error = refusal("prepare_data.py", *arguments, folder=tmp_path)
        assert all(part in error for part in parts)

    return check


@pytest.mark.parametrize("name", ["out.pkl", "out.tsv"])
def test_cleans_a_file(prepare, tmp_path, name):
    read, source, target, counts, *rest = prepare("pairs.txt", name).splitlines()
    assert read == "read    3 pairs" and "Latin 100.0%; first: 'Hi.'" in source
    assert target.startswith("target: 5 words") and counts.startswith("0 duplicate pairs")
    assert rest == [
        "dropped 1 pairs: empty source or target after cleaning",
        f"written 2 pairs to {name}",
    ]
    assert read_pairs(tmp_path / name) == [("hi", "gru gott"), ("the dove", "die taube")]


def test_without_an_output_it_only_describes(prepare, tmp_path):
    (tmp_path / "mine.csv").write_text("id,EN,DE\n1,Hi.,Hallo!\n", encoding="utf-8")
    described = prepare("mine.csv", "--columns", "de", "en").splitlines()
    assert "source: 1 words; letters: Latin 100.0%; first: 'Hallo!'" in described
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv", "pairs.txt"]


def test_options_keep_case_punctuation_and_letters(prepare, tmp_path):
    kept = prepare("pairs.txt", "out.tsv", "--keep-case", "--keep-punctuation", "--keep-letters")
    assert "dropped 0 pairs" in kept
    assert read_pairs(tmp_path / "out.tsv") == read_pairs(tmp_path / "pairs.txt")
    prepare("pairs.txt", "out.tsv", "--keep-letters")
    assert read_pairs(tmp_path / "out.tsv") == [("hi", "grüß gott"), ("the dove", "die taube")]


def test_a_file_in_another_script_says_which_flag_keeps_it(prepare, refused, tmp_path):
    (tmp_path / "russian.tsv").write_text("Привет!\tHello!\n", encoding="utf-8")
    refused(["russian.tsv", "out.tsv"], "100% of the letters", "--keep-letters")
    assert not (tmp_path / "out.tsv").exists()
    prepare("russian.tsv", "out.tsv", "--keep-letters")
    assert read_pairs(tmp_path / "out.tsv") == [("привет", "hello")]


def test_reads_two_parallel_files(prepare, tmp_path):
    (tmp_path / "a.en").write_text("Hi.\nGo on.\n", encoding="utf-8")
    (tmp_path / "a.de").write_text("Hallo!\nMach weiter.\n", encoding="utf-8")
    prepare("a.en", "out.tsv", "--target-file", "a.de")
    assert read_pairs(tmp_path / "out.tsv") == [("hi", "hallo"), ("go on", "mach weiter")]


def test_limits_of_the_input_can_be_raised(prepare, refused, tmp_path):
    (tmp_path / "long.tsv").write_text(f"{'a' * 100_000}\tb\n", encoding="utf-8")
    refused(["long.tsv", "out.tsv"], "long.tsv", "100,000 char", "--data-limits")
    prepare("long.tsv", "out.tsv", "--data-limits", "1.5")
    assert "written" in prepare("out.tsv", "out.pkl", "--data-limits", "2")
    refused(["out.tsv", "x.tsv", "--data-limits", "1e9"], "`data_limits`", "1000000000")


def test_unwritable_outputs_are_refused(refused, tmp_path):
    refused(["pairs.txt", "out.csv"], "out.csv")
    refused(["pairs.txt", "./pairs.txt"], "must not be an input")
    refused(["pairs.txt", "pairs.txt/out.tsv"], "pairs.txt")
    assert (tmp_path / "pairs.txt").read_text(encoding="utf-8") == TEXT


def test_an_empty_result_is_refused(refused, tmp_path):
    (tmp_path / "numbers.tsv").write_text("12\t12\n", encoding="utf-8")
    refused(["numbers.tsv", "out.tsv"], "at least one pair")


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["pairs.txt", "out.tsv", "--vocab-size", "9"], ["without --tokenize", "vocab_size"]),
        (["pairs.txt", "out", "--tokenize", "--keep-case"], ["with --tokenize", "keep_case"]),
        (["pairs.txt", "out", "--tokenize"], ["--validation and --test"]),
    ],
)
def test_flags_of_the_other_task_are_refused(refused, tmp_path, flags, parts):
    refused(flags, *parts)
    assert not (tmp_path / flags[1]).exists()


def test_missing_arguments_show_the_usage(prepare):
    assert prepare(expected=2).startswith("usage: prepare_data.py")
