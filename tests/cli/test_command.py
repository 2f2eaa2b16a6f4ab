"""The console command: its subcommands, their arguments, and errors before Keras is imported."""

import configparser
import contextlib
import dataclasses
import inspect
import io
import json
import shlex
import shutil
import subprocess
import sys

import pytest
from quick import some_of
from run_script import SCRIPTS, run_script
from translating import shared_translate, write_run

from keras_transformer import SearchOptions, Translate
from keras_transformer.cli import COMMANDS, main, make_parser
from keras_transformer.inference.options import TEXT_OPTIONS

SCRIPT_NAMES = {
    "attention-page": "attention_html.py",
    "build": "build_it.py",
    "plot": "plot_losses.py",
}
CPU_SECONDS = 0.5
HELP = [["--help"], *([name, "--help"] for name in COMMANDS)]
# Invalid command lines, and a part of the last line that each prints.
INVALID = {
    "": "the following arguments are required: COMMAND",
    "--beam 2": "the following arguments are required: COMMAND",
    "foretell": "invalid choice: 'foretell'",
    "train --epochs -1": "`epochs` must be an int from 1 to 1000000. Received: epochs=-1",
    "train --resume --epochs 0": "`epochs` must be an int from 1 to 1000000. Received: epochs=0",
    "train --rate 1.5": "`rate` must be at least 0 and less than 1. Received: rate=1.5",
    "train --seed -1": "`seed` must be an int from 0 to 4294967295. Received: seed=-1",
    "train --batch-size 1000000": "must be an int from 1 to 65536. Received: batch_size=1000000",
    "train --recipe huge": "argument --recipe: invalid choice: 'huge'",
    "train a.tsv --data b.tsv": "Give either PAIRS or --data. Received: a.tsv, b.tsv",
    "train @missing": "No such file or directory: 'missing'",
    "train @recipe.txt": "No closing quotation",
    "translate run one --beam 0": "Received: beam_size=0",
    "translate run one --beam many": "argument --beam: invalid int value: 'many'",
    "translate run one --n-best 2": "Received: n_best=2, beam_size=1",
    "translate run one --top-k 3": "`top_k` and `top_p` are for sampling",
    "translate run one --temperature 1 --beam 2": "Sampling has no beam",
    "translate run one --engine onnx": "argument --engine: invalid choice: 'onnx'",
    "translate run one --compute-type int8": '`compute_type` is for engine="ctranslate2"',
    "translate run one --engine ctranslate2 --top-k 1 --temperature 1": "has no `temperature`",
    "evaluate run --engine ctranslate2 --compute-type int3": "Received: compute_type='int3'",
    "translate-corpus run a --output b --engine ctranslate2 --temperature 1": "has no `temp",
    "translate run one --file lines.txt": "give sentences or a file, not both",
    "translate-corpus run part.txt": "the following arguments are required: --output",
    "translate-corpus run a --output b --actors 0": "must be an integer of at least 1. Received: 0",
    "translate-corpus run a --output b --beam 2 --n-best 3": "Received: n_best=3, beam_size=2",
    "evaluate run --top-p 0": "Received: top_p=0.0",
    "evaluate run --n-best 2": "unrecognized arguments: --n-best 2",
    "evaluate run --tokenize letters": "Received: tokenize='letters'",
    "plot one two": "--output is required for more than one run",
    "export run --to saved_model --min-length-ratio 3": "min_length_ratio=3.0",
    "export run --to saved_model --seed 1": "unrecognized arguments: --seed 1",
    "export run --to ctranslate2 --allow-unknown": "--allow-unknown requires --to saved_model",
    "average-checkpoints run --last 0": "--last: must be an integer of at least 1. Received: 0",
    "attention-page run": "give the folder of a run and one sentence",
    "attention-page run one --length-penalty -1": "Received: length_penalty=-1.0",
    "attention-page --bert bert one --weights best": "--weights cannot be combined with --bert",
    "demo run --beam 2": "unrecognized arguments: --beam 2",
    "export run --to page --beam 2": "--beam requires --to saved_model",
    "export run --to=--": "argument --to: must not be --",
    "train --run=": "argument --run: must not be empty",
    "train --data=": "argument --data: must not be empty",
    "train-classifier --run=": "argument --run: must not be empty",
    "translate run --file=": "argument --file: must not be empty",
    "prepare-data pairs.tsv ./pairs.tsv": "The output must not be an input file",
    "train-bert --seq-length 4": "--seq-length: must be an integer from 5 to 1024. Received: 4",
    "train-bert --batch-size 1000000": "must be an integer from 1 to 65536. Received: 1000000",
    "train-classifier --epochs 0": "must be an integer from 1 to 1000000. Received: 0",
    "train-classifier --learning-rate 0": "must be a positive number. Received: 0",
    "train-language-model --model gru": "argument --model: invalid choice: 'gru'",
    "train-vit --epochs -1": "must be an integer from 1 to 1000000. Received: -1",
    "train-vit --seed -1": "must be an integer from 0 to 4294967295. Received: -1",
    "forecast --epochs 0": "--epochs: must be an integer from 1 to 1000000. Received: 0",
    "forecast --csv missing.csv": "No such file or directory: 'missing.csv'",
}
BEAM_SEARCH = {
    "beam_size": 3,
    "n_best": 2,
    "length_penalty": 0.9,
    "min_length_ratio": 0.5,
    "max_length_ratio": 1.5,
    "no_repeat_ngram_size": 2,
    "allow_unknown": True,
}
SAMPLING = {"n_best": 2, "temperature": 0.7, "top_k": 3, "top_p": 0.8, "seed": 5}


def call(argv):
    """Runs the command; returns its exit code, its output and its errors."""
    output, errors, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            main(argv)
        except SystemExit as error:
            code = error.code
    return code, output.getvalue(), errors.getvalue()


CALL_ALL = f"""
import contextlib, io, json, sys, time
from keras_transformer.cli import main
{inspect.getsource(call)}
results = []
for argv in json.load(sys.stdin):
    start = time.process_time()
    results.append([*call(argv), "keras" in sys.modules, time.process_time() - start])
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Returns the result of each call. One process makes all, because starting one takes time."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "recipe.txt").write_text("--data 'open")
    process = subprocess.run(
        [sys.executable, "-c", CALL_ALL],
        input=json.dumps([*HELP, *(line.split() for line in INVALID)]),
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip([*map(" ".join, HELP), *INVALID], json.loads(process.stdout), strict=True))


def test_the_help_lists_all_subcommands_with_one_line_each(results):
    code, output, errors, *_ = results["--help"]
    assert (code, errors) == (0, "")
    text = " ".join(output.split())
    for name in COMMANDS:
        assert f" {name} {make_parser(name).description}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_each_subcommand_documents_all_of_its_arguments(results, name):
    code, output, errors, *_ = results[f"{name} --help"]
    assert (code, errors) == (0, "") and output.startswith(f"usage: keras-transformer {name} ")
    for action in make_parser(name)._actions:
        assert action.help, action.dest
        if action.option_strings and "--help" not in action.option_strings:
            assert "default: " in action.help or action.required, action.dest


@pytest.mark.parametrize("line", INVALID)
def test_usage_errors_are_one_line_and_exit_code_2(results, line):
    code, output, errors, *_ = results[line]
    name = line.split(" ")[0]
    prog = f"keras-transformer {name}" if name in COMMANDS else "keras-transformer"
    assert (code, output) == (2, "")
    last = errors.splitlines()[-1]
    assert last.startswith(f"{prog}: error: ") and INVALID[line] in last


def test_help_and_usage_errors_are_fast_and_need_no_keras(results):
    for line, (*_, imports_keras, seconds) in results.items():
        assert not imports_keras and seconds < CPU_SECONDS, line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_script_has_the_arguments_of_the_subcommand(tmp_path, name):
    script = SCRIPT_NAMES.get(name, f"{name.replace('-', '_')}.py")
    printed = run_script(script, "--help", folder=tmp_path)
    assert printed == make_parser(name, prog=script).format_help()


def test_each_script_is_a_subcommand():
    names = {SCRIPT_NAMES.get(name, f"{name.replace('-', '_')}.py") for name in COMMANDS}
    assert names == {path.name for path in SCRIPTS.glob("[!_]*.py")}


def test_without_the_dependencies_each_script_says_what_to_run():
    for script in sorted(SCRIPTS.glob("[!_]*.py")):
        # -S: without the installed packages; -E: without PYTHONPATH.
        command = [sys.executable, "-SE", f"scripts/{script.name}", "a b"]
        done = subprocess.run(command, cwd=SCRIPTS.parent, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        [line] = done.stderr.splitlines()
        assert line.startswith(f"{script.name}: error: this Python has no keras")
        assert shlex.split(line.partition(". Run: ")[2])


def test_without_the_dependencies_the_environment_of_the_checkout_runs_the_script(tmp_path):
    shutil.copytree(SCRIPTS, tmp_path / "scripts")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    command = [sys.executable, "-SE", "scripts/train.py", "--help"]
    failed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    remedy = failed.stderr.split("Run: ")[1]
    assert remedy == ".venv/bin/python scripts/train.py --help\n"
    done = subprocess.run(remedy, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("usage: train.py "), done.stderr


def test_the_package_declares_the_command():
    setup = configparser.ConfigParser()
    setup.read(SCRIPTS.parent / "setup.cfg")
    scripts = setup["options.entry_points"]["console_scripts"]
    assert scripts.strip() == f"keras-transformer = {main.__module__}:{main.__name__}"


def test_commands_have_the_search_options():
    names = {field.name for field in dataclasses.fields(SearchOptions)}
    assert names == {*BEAM_SEARCH, *SAMPLING, *TEXT_OPTIONS}
    sampling = {"temperature", "top_k", "top_p", "seed"}
    for command, missing in {
        "translate": set(),
        "translate-corpus": set(),
        "evaluate": {"n_best"},
        "attention-page": {"n_best"},
        "export": {"n_best", *sampling, *TEXT_OPTIONS},
    }.items():
        found = {action.dest for action in make_parser(command)._actions}
        assert names - found == missing, command


def test_glossary_required_and_forbidden_words(tmp_path):
    (tmp_path / "run").mkdir()
    write_run(tmp_path / "run")
    (tmp_path / "terms.tsv").write_text("two\tvier\n", encoding="utf-8")
    arguments = ("translate.py", "run", "one two 12", "--glossary", "terms.tsv", "--copy-spans")
    words = ("--require", "zwei", "--require", "eins", "--forbid", "drei")
    printed = run_script(*arguments, *words, folder=tmp_path)
    assert {"vier", "12", "zwei", "eins"} <= set(printed.split()) and "drei" not in printed
    glossary = [str(tmp_path / "run"), "--glossary", str(tmp_path / "terms.tsv")]
    code, _, error = call(["evaluate", *glossary, "--engine", "ctranslate2"])
    assert code and 'The engine "ctranslate2" has no `glossary`' in error
    (tmp_path / "terms.tsv").write_text("two\tvier\ntwo\tdrei\n", encoding="utf-8")
    code, _, error = call(["translate", *glossary, "--file", str(tmp_path / "terms.tsv")])
    assert code and error.endswith("Received: 'two': 'vier' and 'drei'\n")
    output = ["--output", str(tmp_path / "output.txt")]
    code, _, error = call(["translate", str(tmp_path / "run"), "--file", "missing.txt", *output])
    assert code and "No such file" in error and "output.txt" not in error


@pytest.mark.parametrize(
    "command", ["train-bert", "train-classifier", "train-language-model", "forecast --csv"]
)
def test_data_limits_reach_the_reader(tmp_path, command):
    (tmp_path / "data.tsv").write_text(f"{'a' * 300}\tb\n", encoding="utf-8")
    name, *flag = command.split()
    line = (f"{name.replace('-', '_')}.py", *flag, "data.tsv", "--data-limits")
    for limits, maximum in (("0.001", 100), ("0.002", 200)):
        printed = run_script(*line, limits, folder=tmp_path, expected=2)
        assert f"must have at most {maximum} characters" in printed and line[-1] in printed


@pytest.mark.parametrize(
    "options", some_of({"beam": BEAM_SEARCH, "sampling": SAMPLING}, quick=("sampling",))
)
def test_all_search_options_reach_the_search(tmp_path, monkeypatch, options):
    (tmp_path / "run").mkdir()
    write_run(tmp_path / "run")
    received, stream = {}, Translate.stream

    def watch(translate, *arguments, **keywords):
        received.update(keywords)
        return stream(translate, *arguments, **keywords)

    monkeypatch.setattr(Translate, "stream", watch)
    flags = [word for name, value in options.items() for word in _flag(name, value)]
    printed = run_script("translate.py", "run", "one two three", *flags, folder=tmp_path)
    assert received.items() >= options.items()
    found = shared_translate().hypotheses("one two three", **options)[0]
    assert [line.split("\t")[1] for line in printed.splitlines()] == [x.text for x in found]


def _flag(name, value):
    flag = "--beam" if name == "beam_size" else "--" + name.replace("_", "-")
    return [flag] if value is True else [flag, value]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (None, 0, ""),
        (ValueError("bad"), 2, "keras-transformer plot: error: bad\n"),
        (OSError("bad"), 2, "keras-transformer plot: error: bad\n"),
        (FloatingPointError("bad"), 2, "keras-transformer plot: error: bad\n"),
        (ImportError("bad"), 2, "keras-transformer plot: error: bad\n"),
        (KeyboardInterrupt(), 130, "keras-transformer plot: interrupted\n"),
    ],
    ids=repr,
)
def test_an_expected_error_is_one_line(monkeypatch, error, code, message):
    monkeypatch.setattr("keras_transformer.cli.plot.run", _raising(error))
    assert call(["plot", "run"]) == (code, "", message)


def test_a_bug_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr("keras_transformer.cli.plot.run", _raising(KeyError("bug")))
    with pytest.raises(KeyError):
        call(["plot", "run"])


def _raising(error):
    def run(*arguments, **options):
        if error is not None:
            raise error

    return run
