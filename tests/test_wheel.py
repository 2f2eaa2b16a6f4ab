"""The wheel alone: installed without the checkout, it trains, translates and exports."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import keras
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from quick import exhaustive_on_jax

import keras_transformer

ROOT = Path(__file__).resolve().parents[1]
# Of the checkout, what the build reads, and tests, which it must leave out.
SOURCES = ("LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.cfg")
FOLDERS = ("data", "keras_transformer", "tests")
EXTRAS = (keras.config.backend(), "ctranslate2")
SIZES = {"d-model": 16, "d-ff": 32, "n": 1, "h": 2, "n-sentences": 200, "dtype": "float32"}
TINY = [f"--{name}={value}" for name, value in SIZES.items()]
# PYTHONPATH would show the checkout to the installed program.
VARIABLES = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

pytestmark = [pytest.mark.slow, pytest.mark.every_backend]


def build(kind, source, folder):
    """Builds an "sdist" or a "wheel" with the build backend and returns its path."""
    folder.mkdir()
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True)
    [path] = folder.iterdir()
    return path


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.CRC for info in archive.infolist()}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the checkout, because building writes to it."""
    folder = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        shutil.copy(ROOT / name, folder)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    return build("wheel", source, tmp_path_factory.mktemp("dist") / "wheel")


def test_the_sdist_builds_the_same_wheel(source, wheel, tmp_path):
    sdist = build("sdist", source, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / sdist.name.removesuffix(".tar.gz")
    assert not (unpacked / "tests").exists()  # a part of the tests would not run
    assert contents(build("wheel", unpacked, tmp_path / "wheel")) == contents(wheel)


def declared_distributions(requirements, extras):
    """Returns the installed distributions that requirements need, directly or indirectly."""
    found, todo = {}, [(requirement, extras) for requirement in requirements]
    while todo:
        requirement, wanted = todo.pop()
        requirement = Requirement(requirement)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in ("", *wanted)):
            continue
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key not in found:
            found[key] = importlib.metadata.distribution(requirement.name)
            todo += [(x, tuple(requirement.extras)) for x in found[key].requires or ()]
    return found.values()


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """An environment with the wheel and the libraries that it declares.

    The libraries are links to those of the test environment instead of downloads. That pip finds
    versions of them which fit together is therefore not tested.
    """
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    python = shutil.which("python", path=scripts)
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    libraries = Path(subprocess.check_output([python, "-c", code], text=True).strip())
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True, env=VARIABLES)
    [metadata] = importlib.metadata.distributions(path=[str(libraries)])
    for distribution in declared_distributions(metadata.requires, EXTRAS):
        for name in {path.parts[0] for path in distribution.files} - {"..", "__pycache__"}:
            if not (libraries / name).exists():
                (libraries / name).symlink_to(distribution.locate_file(name))
    return scripts, libraries


@exhaustive_on_jax
def test_the_wheel_needs_no_checkout(environment, tmp_path):
    scripts, libraries = environment
    command = shutil.which("keras-transformer", path=scripts)
    python = shutil.which("python", path=scripts)

    def run(*arguments):
        done = subprocess.run(
            arguments, cwd=tmp_path, env=VARIABLES, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    code = "import keras_transformer as kt; print(kt.__file__, kt.__version__)"
    file, version = run(python, "-c", code).split()
    assert Path(file).is_relative_to(libraries)
    assert version == keras_transformer.__version__
    assert run(command, "translate", "--", "I am hungry.").strip() == "Ich habe Hunger."

    assert "Wrote build_it.py" in run(command, "build")
    run(command, "train", "--run", "run", "--recipe", "tiny", "--epochs", "1", *TINY)
    assert "Epoch 2/2" in run(command, "train", "--run", "run", "--resume", "--epochs", "2")
    assert run(command, "translate", "run", "I am hungry.", "Thank you.").count("\n") == 2
    assert "BLEU" in run(command, "evaluate", "run", "--beam", "2")
    run(command, "plot", "run", "--output", "losses.svg")
    assert (tmp_path / "losses.svg").stat().st_size > 1000
    formats = ["ctranslate2", "float16"]
    if keras.config.backend() == "tensorflow":
        formats.append("saved_model")
    for name in formats:
        run(command, "export", "run", "--to", name, "--output", f"exported/{name}")
    assert {path.name for path in (tmp_path / "exported").iterdir()} == set(formats)
    assert run(command, "translate", "exported/float16", "Thank you.").count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} - {"run", ".run.lock"} == {
        "build_it.py",
        "exported",
        "losses.svg",
    }
