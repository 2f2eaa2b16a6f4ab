"""The sentences of the design that a machine can check."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

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
    "evaluation": set(),
    "plotting": set(),
}
EVERYBODYS = {"special_tokens", "files", "config", "checks", "backend"}


def imports(file):
    """The modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


@pytest.mark.parametrize("file", FILES)
def test_backends_are_imported_in_their_steps_only(file):
    tops = {module.split(".")[0] for module in imports(file)}
    assert ("tensorflow" in tops) == (file in TENSORFLOW_FILES)
    assert ("jax" in tops) == (file in JAX_FILES)
    assert "torch" not in tops


@pytest.mark.parametrize("file", FILES)
def test_public_modules_of_keras_only(file):
    assert not any(module.split(".")[:2] == ["keras", "src"] for module in imports(file))


@pytest.mark.parametrize("file", [file for file in FILES if file.count("/") > 1])
def test_dependencies_point_one_way(file):
    part = file.split("/")[1]
    ours = {m.split(".")[1] for m in imports(file) if m.startswith("keras_transformer.")}
    assert ours <= ALLOWED[part] | EVERYBODYS | {part}


def test_pickle_is_read_in_one_place():
    readers = {file for file in FILES if "pickle" in imports(file)}
    assert readers == {"keras_transformer/data/pairs.py"}


@pytest.mark.parametrize("name", keras_transformer.__all__)
def test_every_public_name_is_there_and_explained(name):
    assert getattr(keras_transformer, name).__doc__


def test_importing_needs_no_tensorflow():
    code = "import sys; sys.modules['tensorflow'] = None; import keras_transformer"
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_the_scripts_are_short():
    for script in (ROOT / "scripts").glob("*.py"):
        assert len(script.read_text(encoding="utf-8").splitlines()) < 60, script.name


def test_the_backend_under_test_is_the_one_asked_for():
    assert keras.config.backend() == os.environ.get("KERAS_BACKEND", "tensorflow")
