"""The code in the documents runs, their links are valid and the files they name exist."""

import ast
import os
import platform
import re
import shlex
import subprocess
import sys
from pathlib import Path
from unittest import mock

import keras
import numpy as np
import pytest
from layer_contract import EAGERLY, numpy
from quick import some_of
from tiny import make_dataset
from translating import make_translate, write_run

import keras_transformer as kt
from keras_transformer.cli import COMMANDS, make_parser
from keras_transformer.export.ctranslate2 import export_ctranslate2
from keras_transformer.export.saved_model import export_saved_model

ROOT = Path(__file__).resolve().parents[1]
DOCS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md"]


def code_blocks(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.slow
def test_code_in_models_md_runs(monkeypatch, capsys):
    keras.utils.set_random_seed(0)
    monkeypatch.chdir(ROOT)
    names = {}
    for block in code_blocks("models.md"):
        if not re.search(r"\.from_\w+\(\"", block):  # needs downloaded weights
            exec(compile(block, "docs/models.md", "exec"), names)
    printed = capsys.readouterr().out
    assert printed.startswith("We ")
    assert "'answer': 'Anna'" in printed
    assert printed.strip().endswith("(1, 3)")


def test_code_in_blocks_md_runs():
    names = {}
    for block in code_blocks("blocks.md"):
        exec(compile(block, "docs/blocks.md", "exec"), names)


def test_code_in_before_and_beside_md_runs():
    """Its assertions check the numbers."""
    names = {}
    for block in code_blocks("before-and-beside.md"):
        if not block.startswith("# Timings"):
            exec(compile(block, "docs/before-and-beside.md", "exec"), names)


CHANGES = code_blocks("change-one-part.md")
CHANGE_NAMES = re.findall(r"^def (\w+)\(model\):", "\n".join(CHANGES), re.MULTILINE)


def changed_model(name):
    """Returns a small model with one of the changes of change-one-part.md, and its settings."""
    names = {}
    for block in CHANGES:
        exec(compile(block, "docs/change-one-part.md", "exec"), names)
    dataset = make_dataset()
    sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    settings = kt.BlockSettings(h=2, d_model=8, d_ff=12, n=2, rate=0.0, norm_first=True)
    return names["make_model"](names[name], *sizes, settings)


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="test_replaced_parts covers it")
@pytest.mark.parametrize("name", some_of(CHANGE_NAMES, (CHANGE_NAMES[0], "attention_of_keras")))
def test_changes_of_a_part_train_translate_and_are_saved(name, tmp_path):
    model = changed_model(name)
    source, target = np.array([[4, 5, 6, 3], [7, 3, 0, 0]]), np.array([[2, 5, 7], [2, 8, 0]])
    model.compile(keras.optimizers.SGD(0.1), kt.MaskedCrossEntropy(), run_eagerly=EAGERLY)
    losses = [model.train_on_batch((source, target), target) for _ in range(2)]
    assert losses[1] < losses[0]
    with pytest.warns(UserWarning, match="Decoding with the layers") as warned:
        assert isinstance(make_translate(model)("one two"), str)
    without_cache = any("without a cache" in str(x.message) for x in warned)
    assert without_cache is (name == "attention_of_keras")
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    expected = numpy(model((source, target)))
    np.testing.assert_allclose(numpy(loaded((source, target))), expected, atol=1e-5)


def test_the_changes_are_short_and_those_of_the_notebook():
    assert len(CHANGE_NAMES) == 8
    assert all(len([line for line in x.splitlines() if line]) <= 15 for x in CHANGES[1:])
    path = ROOT / "notebooks/13_change_one_part.py"
    notebook = {ast.dump(x) for x in ast.parse(path.read_text(encoding="utf-8")).body}
    for node in ast.parse("\n".join(CHANGES)).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name != "make_model":
            assert ast.dump(node) in notebook, node.name


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="a SavedModel needs TensorFlow")
def test_code_in_overview_md_runs(monkeypatch, tmp_path, capsys):
    """Uses a small run and the exports that the text expects."""
    run = tmp_path / "runs/english-german"
    write_run(run)
    translate = kt.Translate.from_run(run)
    export_saved_model(translate, run / "exported/saved_model/1")
    export_ctranslate2(translate, run / "exported/ctranslate2")
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "book.txt").write_text("one two\nthree\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names = {}
    with mock.patch.dict(os.environ):  # `tune_process` sets a variable
        for block in code_blocks("overview.md"):
            exec(compile(block, "docs/overview.md", "exec"), names)
    assert "eins zwei\ndrei\n" in capsys.readouterr().out


def test_every_public_name_is_in_the_reference():
    pages = (ROOT / "docs/reference").glob("*.md")
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    named = re.findall(r"^::: keras_transformer\.([\w.]+)$", text, re.MULTILINE)
    assert set(kt.__all__) <= {name.split(".")[-1] for name in named}
    assert len(named) == len(set(named))


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    notebooks = {f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    listed = re.findall(r"^ +- .*?([\w/-]+\.(?:md|ipynb))$", navigation, re.MULTILINE)
    assert set(listed) == pages | notebooks | {"index.md", "changelog.md"}


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_link_is_valid(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert link.startswith("https://") or (path.parent / link).exists(), link


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_every_named_script_and_benchmark_exists(path):
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"\b((?:scripts|benchmarks|notebooks)/[\w/]+\.\w+)", text):
        assert (ROOT / name).exists(), name


FROM_ELSEWHERE = ["from-opennmt-tf.md", "from-joeynmt.md"]
SCRIPTS = {"plot_losses.py": "plot", "attention_html.py": "attention-page", "build_it.py": "build"}


def our_code(name):
    """Returns the inline code of a page without the first columns of its tables, and its recipe."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    (recipe,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    ours = re.sub(r"```.*?```|^\| .*? \| ", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`(.+?)`", ours), recipe


@pytest.mark.parametrize("name", FROM_ELSEWHERE)
def test_commands_for_users_of_other_projects_are_valid(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, recipe = our_code(name)
    (tmp_path / "recipe.txt").write_text(recipe, encoding="utf-8")
    commands = [re.sub(r" [<>] \S+", "", x) for x in code if x.startswith("python scripts/")]
    assert len(commands) >= 8
    for command in commands:
        script, *arguments = shlex.split(command.removeprefix("python scripts/"))
        parser = make_parser(SCRIPTS.get(script, script.removesuffix(".py").replace("_", "-")))
        settings = vars(parser.parse_intermixed_args(arguments))
        if script == "train.py":
            for name in ("run", "resume", "list_recipes", "pairs", "model_parallel"):
                settings.pop(name)
            recipe = settings.pop("recipe", None)
            kt.RunConfig.recipe(recipe, **settings) if recipe else kt.RunConfig(**settings)


@pytest.mark.parametrize("name", FROM_ELSEWHERE)
def test_flags_for_users_of_other_projects_exist(name):
    flags = {flag for code in our_code(name)[0] for flag in re.findall(r"--[\w-]+", code)}
    help = "".join(make_parser(command).format_help() for command in COMMANDS)
    known = set(re.findall(r"--[\w-]+", help))
    assert len(flags) > 20
    assert flags <= known, flags - known


BLOCKS = re.findall(
    r"```python\n# (Both|Keras \d|A program of its own)\n(.*?)```",
    (ROOT / "docs/keras3.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


@pytest.mark.parametrize("i", [i for i, (kind, _) in enumerate(BLOCKS) if "Keras" in kind])
def test_keras_2_code_fails_and_keras_3_code_runs(i, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    kind, code = BLOCKS[i]
    names = {}
    exec(BLOCKS[0][1], names)
    if kind == "Keras 3":
        exec(code, names)
        return
    with pytest.raises((AttributeError, ImportError, TypeError, ValueError)):
        exec(code, names)


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="needs TensorFlow")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the glibc allocator")
def test_fit_on_a_pydataset_changes_how_memory_is_allocated():
    """Remove this test and the text if a new version of TensorFlow behaves differently."""
    (code,) = (code for kind, code in BLOCKS if kind == "A program of its own")
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "0"}
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "Memory patch applied" in process.stderr
    assert int(process.stdout.split(" page faults")[0].split()[-1]) > 5000


def commands(path):
    """Returns the commands with scripts in the shell blocks of a document."""
    blocks = re.findall(r"```(?:sh)?\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if re.match(r"(\w+=\S+ )*python scripts/", line)]


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_the_flags_of_every_command_exist(path, monkeypatch):
    monkeypatch.chdir(ROOT)  # recipes are read
    for line in commands(path):
        words = shlex.split(line.split("python ", 1)[1], comments=True)
        end = next((i for i, word in enumerate(words) if word[0] in ">|"), len(words))
        script, *arguments = words[:end]
        [name] = re.findall(r'run_command\("([\w-]+)"', Path(script).read_text(encoding="utf-8"))
        make_parser(name).parse_args(arguments)
