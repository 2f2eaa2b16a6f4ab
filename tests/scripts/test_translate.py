"""translate.py as a user runs it."""

import re
import shutil

import pytest
from run_script import Terminal, capture_script, refusal, run_script
from translating import shared_translate

import keras_transformer as kt

PNG = b"\x89PNG\r\n\x1a\n"


def translations(sentences):
    return "".join(f"{translation}\n" for translation in shared_translate()(sentences))


def test_it_translates_arguments_and_prints_nothing_else(folder):
    sentences = ["one two", "", "five"]
    output, errors = capture_script("translate.py", "run", *sentences, folder=folder)
    assert output == translations(sentences)
    assert errors == "Loading run, engine auto; the first translation takes a few more seconds.\n"


@pytest.mark.parametrize("arguments", [["I am hungry."], []], ids=["argument", "standard input"])
def test_without_a_run_the_bundled_one_translates_and_says_what_it_knows(tmp_path, arguments):
    text = "" if arguments else "I am hungry."
    output, errors = capture_script("translate.py", *arguments, folder=tmp_path, text=text)
    assert output == "Ich habe Hunger.\n"
    assert "bundled-run" in errors and re.search(r"knows \d,\d{3} English words", errors)


def test_without_a_run_the_newest_one_below_runs_translates(folder, tmp_path):
    (tmp_path / "runs").mkdir()
    shutil.copytree(folder / "run", tmp_path / "runs/mine")
    output, errors = capture_script("translate.py", "one two", folder=tmp_path)
    assert output == translations(["one two"])
    assert (
        errors
        == "Loading runs/mine, engine auto; the first translation takes a few more seconds.\n"
    )


@pytest.mark.parametrize("name", ["./missing", "missing/run"])
def test_an_argument_with_a_slash_is_a_run(tmp_path, name):
    assert "is not a finished run" in refusal("translate.py", name, folder=tmp_path)


def test_it_translates_standard_input(folder):
    output = run_script("translate.py", "run", folder=folder, text="one two\n\nfive")
    assert output == translations(["one two", "", "five"])


def test_it_translates_a_long_file_in_order(folder):
    some = ["one", "two three", "", "four", "five one"]  # more lines than are read at a time
    (folder / "long.txt").write_text("\n".join(some * 900), encoding="utf-8")
    output, errors = capture_script("translate.py", "run", "--file", "long.txt", folder=folder)
    assert output == translations(some) * 900
    assert len(errors.splitlines()) == 1  # no progress without a terminal


def test_it_translates_a_whole_document(folder):
    pytest.importorskip("sentencex")
    (folder / "a.txt").write_bytes(b"- one two.\r\n\r\n(five)")
    command = ("translate.py", "run", "--file", "a.txt", "--document", "en")
    document = kt.Document.read(folder / "a.txt")
    expected = document.translated(shared_translate()(document.sentences))
    assert expected.startswith("- ") and "\r\n\r\n" in expected
    assert run_script(*command, folder=folder) == expected
    assert run_script(*command, "--output", "b.txt", folder=folder) == ""
    assert (folder / "b.txt").read_bytes() == expected.encode()
    (folder / "a.txt").write_bytes(b"\xff")
    error = refusal(*command, "--output", "b.txt", folder=folder)
    assert "line 1 of a.txt is not UTF-8" in error
    assert (folder / "b.txt").read_bytes() == expected.encode()


def test_translations_of_lines_go_to_a_file(folder):
    (folder / "lines.txt").write_text("one two\n\nfive")
    command = ("translate.py", "run", "--file", "lines.txt", "--output", "out.txt")
    assert run_script(*command, folder=folder) == ""
    assert (folder / "out.txt").read_text() == translations(["one two", "", "five"])


def test_empty_input_gives_empty_output(folder):
    (folder / "empty.txt").touch()
    assert run_script("translate.py", "run", "--file", "empty.txt", folder=folder) == ""
    assert run_script("translate.py", "run", folder=folder) == ""


@pytest.mark.slow
def test_the_engine_is_named_in_the_first_line(folder):
    pytest.importorskip("ctranslate2")
    command = ["one two", "five", "--engine", "ctranslate2", "--compute-type", "int8"]
    output, errors = capture_script("translate.py", "run", *command, folder=folder)
    assert output == translations(["one two", "five"])
    assert errors.startswith("Loading run, engine ctranslate2; ")


def test_n_best_translations_are_printed_with_their_scores(folder):
    options = {"beam_size": 4, "n_best": 2}
    command = ["--beam", 4, "--n-best", 2, "one two", "five"]
    output = run_script("translate.py", "run", *command, folder=folder)
    lines = [line.split("\t") for line in output.splitlines()]
    found = [x for y in shared_translate().hypotheses(["one two", "five"], **options) for x in y]
    assert [text for _, text in lines] == [x.text for x in found] and len(lines) == 4
    assert [float(score) for score, _ in lines] == pytest.approx([x.score for x in found], abs=2e-3)
    assert all(len(score.split(".")[1]) == 3 for score, _ in lines)


def test_interactive_input_is_translated_sentence_by_sentence(folder):
    output, printed = Terminal(), []

    class Typing(Terminal):
        def readline(self, *size):
            printed.append(output.getvalue())
            return super().readline(*size)

    lines = "one two\nfive ninety\nquit\nfour\n"
    options = {"folder": folder, "stdin": Typing(lines), "output": output}
    _, errors = capture_script("translate.py", "run", **options)
    assert errors.count("unknown") == 1 and "(unknown: ninety)" in errors
    first, second = map(translations, (["one two"], ["five ninety"]))
    prompt = "Sentence: "
    assert printed == [
        prompt,
        f"{prompt}{first}{prompt}",
        f"{prompt}{first}{prompt}{second}{prompt}",
    ]


@pytest.mark.exhaustive
def test_the_prompt_goes_to_stderr_if_output_is_redirected(folder):
    options = {"folder": folder, "stdin": Terminal("one two\n")}
    output, errors = capture_script("translate.py", "run", **options)
    assert output == translations(["one two"])
    assert errors.endswith("Sentence: " * 2)


def test_it_plots_the_attention_weights(folder):
    command = ["--attention", "attention.png", "one two three"]
    output = run_script("translate.py", "run", *command, folder=folder)
    assert output == translations(["one two three"])
    assert (folder / "attention.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--attention", "no.png", "one", "two"], "--attention plots one sentence"),
        (["--attention", "no.png"], "--attention plots one sentence"),
        (["--attention", "no.png", "--file", "x.txt"], "--attention plots one sentence"),
        (["--document", "en", "one"], "--document LANGUAGE requires --file"),
        (["--document", "en", "--file", "a.md", "--beam", "2", "--n-best", "2"], "one translation"),
        (["--document", "en", "--file", "latin.docx"], "must be a file of the kind .txt"),
        (["--file", "missing.txt"], "No such file or directory: 'missing.txt'"),
        (["--file", "latin.txt"], "line 1 of latin.txt is not UTF-8; save the file as UTF-8"),
        (["--attention", "no.png", " "], "no attention weights to plot: the sentence has no words"),
        (["one " * 1025], "Sentence 1 is too long: split it"),
    ],
)
def test_invalid_arguments_are_refused(folder, arguments, message):
    (folder / "latin.txt").write_bytes("für\n".encode("latin-1"))
    assert message in refusal("translate.py", "run", *arguments, folder=folder)
    assert not (folder / "no.png").exists()
