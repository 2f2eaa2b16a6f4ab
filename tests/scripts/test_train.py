"""train.py and the scripts for its runs as a user runs them: train, plot, translate, evaluate."""

import dataclasses
import json
import os
import pickle
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from other_backends import run_on
from quick import some_of
from run_script import SCRIPTS, refusal, run_script
from tiny import PAIRS

from keras_transformer import RunConfig, RunFolder, __version__, train_run
from keras_transformer.runs.recipes import RECIPES

TINY = ["--d-model", "32", "--d-ff", "64", "--n", "1", "--h", "2", "--batch-size", "16"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("user")
    lines = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    (folder / "numbers.tsv").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def output(folder):
    return run_script("train.py", "--data", "numbers.tsv", "--epochs", "2", *TINY, folder=folder)


def test_it_reports_progress_and_example_translations(output):
    for part in ("training pairs", "parameters", "Epoch 2/2 (", " s left)", "tokens/s", "chrF"):
        assert part in output
    first, second = (part.split("Epoch")[0] for part in output.split("Validation loss")[1:])
    assert first.count("→") == first.count("\n    = ") == 3
    sources = [
        [line for line in part.split("\n\n")[0].splitlines()[1:] if line[:3] != "   "]
        for part in (first, second)
    ]
    assert {x for x in sources[1] if x[:2] == "  "} <= {*sources[0], "  (the same translations)"}
    assert re.search(r"Muon with a learning rate of \S+ after \d+ of \d+ updates, then lin", output)
    assert second.split("\n\n")[0].count("→") <= 3 and second.split("\n\n", 1)[1].count("→") == 5


def test_a_very_low_bleu_comes_with_its_usual_causes(output):
    assert "A BLEU below 5 usually has one of these causes" in output
    assert "this run made at most" in output and "of the test words" in output


@pytest.mark.slow
def test_the_next_commands_work_as_printed(folder, output):
    commands = output.split("Next steps:")[1].strip().splitlines()
    translate, *others = [command.strip() for command in commands]
    done = subprocess.run(translate, shell=True, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    for _, script, *arguments in map(shlex.split, others):
        script = Path(script)
        assert script.parent == SCRIPTS
        if script.name != "demo.py":  # it opens a browser; see test_demo.py
            assert run_script(script.name, *arguments, folder=folder)


def test_the_run_is_a_folder_of_data_files(folder, output):
    run = folder / "runs" / "numbers"
    files = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    assert files == {
        "config.json",
        "data.json",
        "source_tokenizer.json",
        "target_tokenizer.json",
        "test.tsv",
        "curve.csv",
        "history.csv",
        "curves.png",
        "weights/best.weights.h5",
        "checkpoints/000002/variables.h5",
        "checkpoints/000002/counters.json",
    }
    assert len(RunFolder(run).read_history()) == 2


def test_evaluate_reproduces_the_scores_of_training(folder, output):
    printed = run_script("evaluate.py", "runs/numbers", folder=folder)
    scores = [line for line in output.splitlines() if line.startswith(("BLEU", "chrF"))]
    assert len(scores) == 2
    assert [line for line in printed.splitlines() if line.startswith(("BLEU", "chrF"))] == scores
    assert "nrefs:1" in scores[0]


def test_evaluate_scores_a_file_with_several_references(folder, output):
    (folder / "own.tsv").write_text("one\tuno\teins!\ntwo\tzwei\n", encoding="utf-8")
    printed = run_script("evaluate.py", "runs/numbers", "--test", "own.tsv", folder=folder)
    assert printed.startswith("runs/numbers: 2 sentences of own.tsv, engine auto\nBLEU ")
    assert "nrefs:var" in printed and "\nexact " in printed
    (folder / "own.tsv").write_text("one\n", encoding="utf-8")
    error = refusal("evaluate.py", "runs/numbers", "--test", "own.tsv", folder=folder)
    assert "own.tsv must have lines of a source and its references" in error


def test_plot_losses_plots_one_run_or_several(folder, output):
    run_script("plot_losses.py", "runs/numbers", folder=folder)
    run_script(
        "plot_losses.py", "runs/numbers", "runs/numbers", "--output", "both.svg", folder=folder
    )
    assert (folder / "both.svg").read_text().startswith("<?xml")
    refusal("plot_losses.py", "runs/numbers", "runs/numbers", folder=folder)


def test_a_run_resumes_only_with_its_own_settings_and_data(folder, output):
    again = ["--data", "numbers.tsv"]
    assert "resume it with --resume" in refusal("train.py", *again, folder=folder)
    error = refusal("train.py", *again, "--resume", "--n", "2", folder=folder)
    assert "Received: {'n': 2}" in error
    tiny = ["--recipe", "tiny", "--run", "runs/numbers"]
    error = refusal("train.py", *again, "--resume", *tiny, folder=folder)
    assert "leave these out" in error and "'d_model': 64" in error
    other = "".join(f"{word}\t{word}\n" for word in "abcdefghijklmnopqrst")
    (folder / "other.tsv").write_text(other)
    arguments = ["--run", "runs/numbers", "--resume", "--data", "other.tsv"]
    assert "was started with different data" in refusal("train.py", *arguments, folder=folder)
    assert json.loads((folder / "runs/numbers/config.json").read_text())["data"] == "numbers.tsv"


def test_train_run_refuses_changed_settings(folder, output):
    before = (folder / "runs/numbers/config.json").read_text()
    config = RunFolder(folder / "runs/numbers").read_config()
    other = dataclasses.replace(config, data=str(folder / "numbers.tsv"), d_ff=32, epochs=3)
    with pytest.raises(ValueError, match=r"Received: \{'d_ff': 32\}$"):
        train_run(other, folder / "runs/numbers")
    assert (folder / "runs/numbers/config.json").read_text() == before


RUN = """
import os, runpy, sys
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "others"), [("jax", ["tensorflow"]), ("torch", ["tensorflow", "jax"])]
)
def test_a_run_begun_without_tensorflow_resumes_on_it(folder, output, backend, others):
    run, data = f"runs/{backend}", ["--data", "numbers.tsv", "--n-sentences", "60"]
    for this, blocked, script, *arguments in (
        (backend, others, "train.py", "--run", run, "--epochs", "1", *data, *TINY),
        (backend, others, "translate.py", run, "one"),
        ("tensorflow", (), "train.py", "--run", run, "--epochs", "2", "--resume"),
    ):
        run_on(this, RUN, SCRIPTS / script, *arguments, blocked=blocked, cwd=folder)
    assert len(RunFolder(folder / run).read_history()) == 2


class Hostile:
    def __reduce__(self):
        return os.system, ("touch hacked",)


def test_bad_data_is_a_clear_error_and_leaves_no_run(folder):
    valid = pickle.dumps([["one", "eins"]] * 9)
    files = {
        "hostile.pkl": pickle.dumps(Hostile()),
        "truncated.pkl": valid[:-9],
        "few.tsv": b"one\teins\n",
        "blank.tsv": b"\t\n \t \n",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    for name in ("missing.pkl", *files):
        refusal("train.py", "--data", name, folder=folder)
        assert not (folder / "runs" / Path(name).stem).exists()
    assert not (folder / "hacked").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--n-sentences", "1000000"],
        ["--d-model", "30", "--h", "4"],
        ["--d-model", "15", "--h", "3"],
        ["--dtype", "int8"],
    ],
)
def test_invalid_settings_are_refused_and_leave_no_run(folder, arguments):
    run = ["--run", "runs/invalid", "--data", "numbers.tsv"]
    assert "Received: " in refusal("train.py", *run, *arguments, folder=folder)
    assert not (folder / "runs/invalid").exists()


@pytest.mark.parametrize("script", ["translate.py", "evaluate.py", "plot_losses.py"])
def test_a_folder_that_is_not_a_run_is_a_clear_error(folder, script):
    (folder / "empty").mkdir(exist_ok=True)
    arguments = ["empty", "one"] if script == "translate.py" else ["empty"]
    error = refusal(script, *arguments, folder=folder)
    assert "empty is not a finished run: it has no " in error


def test_runs_with_the_same_name_are_plotted_separately(folder, output):
    shutil.copytree(folder / "runs/numbers", folder / "copy/numbers")
    runs = ["runs/numbers", "copy/numbers"]
    run_script("plot_losses.py", *runs, "--output", "two.svg", folder=folder)
    picture = (folder / "two.svg").read_text()
    assert all(f"{run}: validation" in picture for run in runs)


@pytest.mark.parametrize("recipe", sorted({*RECIPES} - {"tiny", "base", "book"}))
def test_a_recipe_needs_only_its_data(folder, recipe):
    error = refusal("train.py", "--recipe", recipe, folder=folder)
    assert "error: No file of sentence pairs here" in error
    assert not (folder / "runs" / recipe).exists()


@pytest.mark.slow
def test_the_run_of_books_says_what_it_uses(folder):
    """Its log begins with the data and the model; the flags that override it are named before."""
    smaller = {"n_sentences": 180, "d_model": 16, "d_ff": 16, "n": 1, "epochs": 1}
    flags = [x for name, size in smaller.items() for x in (f"--{name.replace('_', '-')}", size)]
    output = run_script("train.py", "--recipe", "book", "numbers.tsv", *flags, folder=folder)
    *replaced, data, model = output.splitlines()[: len(smaller) + 2]
    assert sorted(replaced) == sorted(
        f"Recipe book: {name} is {size} instead of {getattr(RunConfig.recipe('book'), name)}"
        for name, size in smaller.items()
    )
    assert data.startswith("Data: numbers.tsv, ") and "training pairs" in data
    assert model.startswith(
        "Model: transformer, 1 + 1 layers, d_model 16, 8 heads of 64, d_ff 16, post-norm, "
        "sinusoidal positions, dropout 0.1, "
    )
    assert re.search(r"Adam with .* 4,000 of \d+ updates, then inverse square root; ", model)
    written = json.loads((folder / "runs/book/config.json").read_text())
    book = dataclasses.asdict(RunConfig.recipe("book", data="numbers.tsv", **smaller))
    automatic = {"dtype": written["dtype"]}
    assert written == {
        "version": __version__, **book, **automatic, "automatic": {"dtype": "auto"}
    }  # fmt: skip
    points = RunFolder(folder / "runs/book").read_curve()
    assert points and points[-1][2] == pytest.approx(16**-0.5 * points[-1][0] * 4000**-1.5)


def test_a_finished_run_is_not_trained_in_silence(folder, output):
    again = run_script("train.py", "numbers.tsv", "--resume", folder=folder)
    assert "Nothing is left to train: the run has 2 of 2 epochs." in again


@pytest.mark.slow
def test_a_run_on_token_ids_with_all_options(folder):
    for name, pairs in {"train": PAIRS[:-30], "val": PAIRS[-30:-15], "test": PAIRS[-15:]}.items():
        lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (folder / f"{name}.tsv").write_text(lines, encoding="utf-8")
    (folder / "recipe.txt").write_text(
        "--data tokens  # large files\n\n"
        "--d-model 32 --d-ff 64 --n 1 --h 2 --batch-tokens 64 --accumulation 2 --clip-norm 1\n"
        "--ema 0.9 --monitor bleu --keep-weights 2 --attention-rate 0.1 --activation-rate 0.1\n"
        "--warmup-steps 50 --epochs 2\n"
    )
    parts = ["--validation", "val.tsv", "--test", "test.tsv"]
    flags = ["--tokenize", *parts, "--vocab-size", "60", "--share-vocabulary"]
    run_script("prepare_data.py", "train.tsv", "tokens", *flags, folder=folder)
    other = refusal("train.py", "--data", "tokens", "--vocab-size", "70", *parts, folder=folder)
    assert "leave other settings out;" in other and "'vocab_size': 70" in other
    output = run_script("train.py", "@recipe.txt", "--run", "runs/all", folder=folder)
    for part in ("batches of 64 tokens", "BLEU", "padding", "15 sentences"):
        assert part in output
    run = RunFolder(folder / "runs/all")
    history = run.read_history()
    assert len(history) == 2 and all(0 <= row["validation_bleu"] <= 100 for row in history)
    assert run.read_model().share_embeddings and run.read_model().settings.attention_rate == 0.1
    run_script("average_checkpoints.py", "runs/all", "--last", "2", folder=folder)
    flags = ["--weights", "average", "--beam", "2", "--tokenize", "none"]
    scores = run_script("evaluate.py", "runs/all", *flags, folder=folder)
    assert "tok:none" in scores and "15 sentences of the test part" in scores
    flags = ["one two", "--weights"]
    missing = refusal("translate.py", "runs/all", *flags, "epoch-9", folder=folder)
    assert "has no weights 'epoch-9', but " in missing
    run_script("translate.py", "runs/all", *flags, "average", folder=folder)
    resume = ["--run", "runs/all", "--resume", "--epochs", "3"]
    (folder / "tokens/00000.npy").rename(folder / "00000.npy")
    assert "is missing: restore it" in refusal("train.py", *resume, folder=folder)
    (folder / "00000.npy").rename(folder / "tokens/00000.npy")
    again = run_script("train.py", *resume, folder=folder)
    assert "Epoch 3/3" in again and "Epoch 2/3" not in again
    adapt = ["--run", "runs/adapted", "--from", "runs/all", "--epochs", "1", "--data"]
    flags = ["--tokenize", "--validation", "test.tsv", "--test", "test.tsv"]
    run_script("prepare_data.py", "val.tsv", "other", *flags, folder=folder)
    assert "--vocabularies" in refusal("train.py", *adapt, "other", folder=folder)
    flags = ["--tokenize", *parts, "--vocabularies", "runs/all"]
    run_script("prepare_data.py", "train.tsv", "same", *flags, folder=folder)
    assert "Unknown to the vocab" in run_script("train.py", *adapt, "same", folder=folder)


@pytest.mark.slow
@pytest.mark.parametrize("model", some_of(("bahdanau", "luong"), quick=["bahdanau"]))
def test_recurrent_translators_are_trained_and_used_the_same_way(folder, output, model):
    run, data = f"runs/{model}", ["--data", "numbers.tsv", "--n-sentences", "120"]
    arguments = ["--run", run, "--model", model, "--epochs", "1", *data, *TINY]
    assert "BLEU" in run_script("train.py", *arguments, folder=folder)
    picture = ["--attention", "recurrent.png", "--beam", "2"]
    assert run_script("translate.py", run, "one two", *picture, folder=folder)
    assert (folder / "recurrent.png").stat().st_size > 1000
    error = refusal("export.py", run, "--to", "ctranslate2", folder=folder)
    assert "takes only a built `TransformerModel`" in error
