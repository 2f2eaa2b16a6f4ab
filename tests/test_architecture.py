"""The design rules that can be checked automatically."""

import ast
import functools
import importlib
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
    "keras_transformer/build_it/solution.py",
    "keras_transformer/backends/fused_adam.py",
    "keras_transformer/backends/tensorflow.py",
    "keras_transformer/export/saved_model.py",
}
JAX_FILES = {"keras_transformer/backends/jax.py"}
TORCH_FILES = {
    "keras_transformer/backends/torch.py",
    "keras_transformer/backends/torch_adam.py",
}

# Top-level packages and modules from high to low; each may import only those below it.
ORDER = (
    "_public",
    "cli",
    "build_it",
    "pages",
    "export",
    "bulk",
    "training",
    "inference",
    "plotting",
    "runs",
    "objectives",
    "backends",
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
    """Returns all modules that a file imports, including imports inside functions."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


def test_backends_are_imported_only_in_their_own_files():
    for file in FILES:
        packages = {module.split(".")[0] for module in imports(file)}
        assert ("tensorflow" in packages) == (file in TENSORFLOW_FILES), file
        assert ("jax" in packages) == (file in JAX_FILES), file
        assert ("torch" in packages) == (file in TORCH_FILES), file


def test_ray_is_imported_in_one_file():
    importers = {file for file in FILES if any(m.split(".")[0] == "ray" for m in imports(file))}
    assert importers == {"keras_transformer/bulk/cluster.py"}


def test_only_public_keras_modules_are_imported():
    for file in FILES:
        private = [m for m in imports(file) if m.split(".")[:2] == ["keras", "src"]]
        assert not private, f"{file} imports {private}"


def top_level_name(name):
    """Returns the top-level package or module that contains a dotted name or a path."""
    return name.removesuffix(".py").replace("/", ".").split(".")[1]


def test_imports_follow_the_layer_order():
    for file in FILES:
        package = top_level_name(file)
        if package == "__init__":
            continue
        imported = {top_level_name(m) for m in imports(file) if m.startswith("keras_transformer.")}
        wrong = imported - {package} - set(ORDER[ORDER.index(package) + 1 :])
        assert not wrong, f"{file} imports {wrong}"


def test_the_package_root_contains_few_files():
    root = {path.name for path in PACKAGE.glob("*.py")}
    assert len(root) <= 7, root


def test_testing_module_imports_only_keras_and_numpy():
    packages = {module.split(".")[0] for module in imports("keras_transformer/testing.py")}
    assert packages <= {*sys.stdlib_module_names, "keras", "numpy"}


def test_pickle_is_imported_in_one_file():
    readers = {file for file in FILES if "pickle" in imports(file)}
    assert readers == {"keras_transformer/data/pickled_pairs.py"}


def test_every_public_name_exists_and_has_a_docstring():
    for name in keras_transformer.__all__:
        assert getattr(keras_transformer, name).__doc__, name


@pytest.mark.slow
def test_public_names_are_loaded_lazily_and_without_tensorflow():
    code = """
import sys
sys.modules["tensorflow"] = None
import keras_transformer as kt
from keras_transformer.training.process import tune_process
from keras_transformer import cli
assert "keras" not in sys.modules and not hasattr(kt, "__wrapped__")
assert "keras" not in sys.modules and set(kt.__all__) <= set(dir(kt))
for name in kt.__all__:
    getattr(kt, name)
assert not hasattr(kt, "Nothing")
"""
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_import_error_explains_missing_backends_and_conflicting_packages():
    code = """
import importlib.metadata, importlib.util
def try_import():
    try:
        import keras_transformer
    except ImportError as error:
        print(error)
version, find = importlib.metadata.version, importlib.util.find_spec
backends = ("jax", "tensorflow", "torch")
importlib.util.find_spec = lambda name: None if name in backends else find(name)
try_import()
importlib.metadata.version = lambda name: "0.40" if name == "keras-transformer" else version(name)
try_import()
"""
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    no_backend, another_package = output.splitlines()
    assert "pip install 'keras3-transformer[tensorflow]'" in no_backend
    assert "pip uninstall keras-transformer" in another_package


def test_error_explains_a_selected_backend_that_is_not_installed():
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


@pytest.mark.slow
def test_import_registers_the_classes_of_saved_files():
    """Importing the package is enough, without using any of its names."""
    code = """
import keras
import keras_transformer
assert keras.saving.get_registered_object("keras_transformer>TransformerModel")
"""
    environment = {**os.environ, "KERAS_BACKEND": "jax"}  # JAX imports faster than TensorFlow
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_selected_backend_is_used():
    assert keras.config.backend() == os.environ.get("KERAS_BACKEND", "tensorflow")


def test_every_fault_of_the_mutation_tests_has_its_place(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests/mutants")
    mutants = importlib.import_module("run")
    places = list(mutants.definitions(ROOT))
    for fault in mutants.FAULTS:
        mutants.locate(fault, places)
        assert all((ROOT / test).exists() for test in fault.tests), fault.name
