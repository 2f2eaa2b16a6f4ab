"""The sentences of the design that a machine can check."""

import ast
import functools
import os
import subprocess
import sys
from pathlib import Path

import keras

import keras_transformer

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "keras_transformer"
FILES = sorted(path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py"))
TENSORFLOW_FILES = {
    "keras_transformer/export/saved_model.py",
    "keras_transformer/training/tensorflow_step.py",
}
JAX_FILES = {"keras_transformer/training/jax_step.py"}

# What a part may import of the others; everything may import the files at the end.
ALLOWED = {
    "layers": {"masks"},
    "masks": set(),
    "models": {"layers", "masks", "pretrained"},
    "data": set(),
    "run_folder": {"models", "data"},
    "training": {"models", "layers", "data", "run_folder", "inference", "evaluation", "plotting"},
    "inference": {"data", "layers", "pretrained_marian", "run_folder"},
    "export": {"data", "inference", "layers", "models", "run_folder"},
    "cli": {
        "attention_page",
        "data",
        "demo",
        "evaluation",
        "export",
        "inference",
        "plotting",
        "run_folder",
        "series",
        "training",
    },
    "evaluation": set(),
    "plotting": set(),
}
EVERYBODYS = {"special_tokens", "files", "config", "checks", "backend"}


@functools.cache
def imports(file):
    """The modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


def test_backends_are_imported_in_their_steps_only():
    for file in FILES:
        tops = {module.split(".")[0] for module in imports(file)}
        assert ("tensorflow" in tops) == (file in TENSORFLOW_FILES), file
        assert ("jax" in tops) == (file in JAX_FILES), file
        assert "torch" not in tops, file


def test_public_modules_of_keras_only():
    for file in FILES:
        private = [m for m in imports(file) if m.split(".")[:2] == ["keras", "src"]]
        assert not private, f"{file} imports {private}"


def test_dependencies_point_one_way():
    for file in FILES:
        if file.count("/") > 1:
            part = file.split("/")[1]
            ours = {m.split(".")[1] for m in imports(file) if m.startswith("keras_transformer.")}
            allowed = ALLOWED[part] | EVERYBODYS | {part}
            assert ours <= allowed, f"{file} imports {ours - allowed}"


def test_the_checks_for_layers_need_nothing_else_of_the_package():
    tops = {module.split(".")[0] for module in imports("keras_transformer/testing.py")}
    assert tops <= {*sys.stdlib_module_names, "keras", "numpy"}


def test_pickle_is_read_in_one_place():
    readers = {file for file in FILES if "pickle" in imports(file)}
    assert readers == {"keras_transformer/data/pairs.py"}


def test_every_public_name_is_there_and_explained():
    for name in keras_transformer.__all__:
        assert getattr(keras_transformer, name).__doc__, name


def test_public_names_are_loaded_when_they_are_used_and_need_no_tensorflow():
    code = """
import sys
sys.modules["tensorflow"] = None
import keras_transformer as kt
from keras_transformer.training.process import tune_process
assert "keras" not in sys.modules
assert set(kt.__all__) <= set(dir(kt))
for name in kt.__all__:
    getattr(kt, name)
assert not hasattr(kt, "Nothing")
"""
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_keras_knows_the_classes_of_saved_files():
    """Also if no name of the package is used."""
    code = """
import keras
import keras_transformer
assert keras.saving.get_registered_object("keras_transformer>TransformerModel")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_backend_under_test_is_the_one_asked_for():
    assert keras.config.backend() == os.environ.get("KERAS_BACKEND", "tensorflow")
