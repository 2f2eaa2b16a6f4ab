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
    "keras_transformer/backends/fused_adam.py",
    "keras_transformer/backends/tensorflow.py",
    "keras_transformer/export/saved_model.py",
}
JAX_FILES = {"keras_transformer/backends/jax.py"}

# Packages and modules of the root, from the top down: each imports only what stands below it.
ORDER = (
    "_public",
    "cli",
    "pages",
    "export",
    "training",
    "inference",
    "runs",
    "objectives",
    "backends",
    "plotting",
    "models",
    "pretrained",
    "data",
    "layers",
    "masks",
    "settings",
    "step_by_step",
    "evaluation",
    "testing",
    "_utils",
)


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


def part_of(name):
    """The package or module of the root that a dotted name or a path lies in."""
    return name.removesuffix(".py").replace("/", ".").split(".")[1]


def test_dependencies_point_one_way():
    for file in FILES:
        part = part_of(file)
        if part == "__init__":
            continue
        ours = {part_of(m) for m in imports(file) if m.startswith("keras_transformer.")}
        upwards = ours - {part} - set(ORDER[ORDER.index(part) + 1 :])
        assert not upwards, f"{file} imports {upwards}"


def test_few_files_lie_at_the_root():
    root = {path.name for path in PACKAGE.glob("*.py")}
    assert len(root) <= 7, root


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


def test_importing_says_what_is_missing_or_in_the_way():
    code = """
import importlib.metadata, importlib.util
def import_it():
    try:
        import keras_transformer
    except ImportError as error:
        print(error)
version, find = importlib.metadata.version, importlib.util.find_spec
backends = ("jax", "tensorflow", "torch")
importlib.util.find_spec = lambda name: None if name in backends else find(name)
import_it()
importlib.metadata.version = lambda name: "0.40" if name == "keras-transformer" else version(name)
import_it()
"""
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    no_backend, another_package = output.splitlines()
    assert "pip install 'keras3-transformer[tensorflow]'" in no_backend
    assert "pip uninstall keras-transformer" in another_package


def test_a_backend_that_is_not_installed_is_named():
    code = """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name == "tensorflow":
            raise ModuleNotFoundError("No module named 'tensorflow'", name=name)
sys.meta_path.insert(0, Missing)
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "tensorflow" else find(name)
import keras_transformer as kt
try:
    kt.Trainer
except ImportError as error:
    print(error)
"""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    output = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert "installed backend, or run: pip install 'keras3-transformer[tens" in output


def test_keras_knows_the_classes_of_saved_files():
    """Also if no name of the package is used."""
    code = """
import keras
import keras_transformer
assert keras.saving.get_registered_object("keras_transformer>TransformerModel")
"""
    environment = {**os.environ, "KERAS_BACKEND": "jax"}  # which is imported faster
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_the_backend_under_test_is_the_one_asked_for():
    assert keras.config.backend() == os.environ.get("KERAS_BACKEND", "tensorflow")
