"""Runs the tests against faulty copies of the package: each fault must make a test fail.

Example:
    python tests/mutants/run.py
    python tests/mutants/run.py mask beam
    python tests/mutants/run.py --tests FOLDER --clean
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PACKAGE = "keras_transformer"
# The tests of `make test`, and if they pass, those of `make test-slow`.
MARKERS = ("not parity and not slow and not browser and not exhaustive", "slow and not exhaustive")
TIMEOUT = 300  # seconds for each of the two
NO_TESTS = 5  # exit status of pytest
# Tests start subprocesses. Each process records which copy of the package it imported.
WATCH = f"""
import atexit, pathlib, sys
def note():
    file = getattr(sys.modules.get({PACKAGE!r}), "__file__", None)
    if file:
        with open(pathlib.Path(__file__).with_name("imported"), "a") as noted:
            noted.write(file + "\\n")
atexit.register(note)
"""


class Fault(NamedTuple):
    """A change of one line of the package.

    Args:
        name: a short description.
        where: the class, function or method whose source holds the line, such as "Dropout.call".
        before: text that occurs exactly once in that source.
        after: the text that replaces it.
        tests: the cheapest test files that should fail, relative to the repository root.
        backend: the Keras backend that runs them.
    """

    name: str
    where: str
    before: str
    after: str
    tests: list[str]
    backend: str


def read_faults(path):
    """Returns the faults that are listed in a file, which says how."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    return [make_fault(*block.splitlines()) for block in blocks if block[0] != "#"]


def make_fault(name, place, before, after):
    where, tests = place.split(": ")
    where, _, backend = where.partition(" on ")
    files = [f"tests/{file}.py" for file in tests.split()]
    return Fault(name, where, before[2:], after[2:], files, backend or "tensorflow")


FAULTS = read_faults(Path(__file__).with_name("faults.txt"))


def definitions(folder):
    """Yields the dotted name, file, first and last line of each class and function."""
    files = (folder / PACKAGE).rglob("*.py")
    for file in sorted(x for x in files if x.parent.name != "build_it"):  # the names are the same
        stack = [("", ast.parse(file.read_text(encoding="utf-8")))]
        while stack:
            prefix, parent = stack.pop()
            for node in ast.iter_child_nodes(parent):
                if isinstance(node, ast.ClassDef | ast.FunctionDef):
                    yield prefix + node.name, file, node.lineno, node.end_lineno
                    if isinstance(node, ast.ClassDef):
                        stack.append((f"{prefix}{node.name}.", node))


def locate(fault, places):
    """Returns where to inject a fault: the file, its lines, the first and last one, and the text.

    Args:
        fault: a `Fault`.
        places: what `definitions` yields.

    Raises:
        RuntimeError: if the package does not have this place, or several times.
    """
    found = []  # each backend has a `TrainingStep`
    for name, file, first, last in places:
        if name == fault.where:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            source = "".join(lines[first - 1 : last])
            found += [(file, lines, first, last, source)] * source.count(fault.before)
    if len(found) != 1 or "\n" in fault.before + fault.after:
        raise RuntimeError(
            f"{fault.before!r} must be part of one line of {fault.where} and occur "
            f"once. Received: {len(found)} occurrences"
        )
    return found[0]


def apply(fault, folder):
    """Changes the copy of the package in a folder."""
    file, lines, first, last, source = locate(fault, definitions(folder))
    lines[first - 1 : last] = [source.replace(fault.before, fault.after)]
    text = "".join(lines)
    compile(text, str(file), "exec")  # any test would notice a syntax error
    file.write_text(text, encoding="utf-8")


def copy(checkout, folder):
    """Copies the package, the tests and the scripts, and links the rest of the checkout.

    All three locate other files relative to their own path. A copy of the package alone would not
    find the embedded data, and tests that set PYTHONPATH would import the package of the checkout.
    """
    ignored = shutil.ignore_patterns("__pycache__", "mutants")
    for path in checkout.iterdir():
        if path.name in (PACKAGE, "tests", "scripts"):
            shutil.copytree(path, folder / path.name, ignore=ignored)
        elif not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    (folder / "sitecustomize.py").write_text(WATCH, encoding="utf-8")


def run(checkout, tests, backend, fault=None, timeout=None, markers=MARKERS[0]):
    """Runs test files on a copy of the package with a fault; returns the first failure, or None."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        folder = Path(name).resolve()
        copy(checkout, folder)
        if fault is not None:
            apply(fault, folder)
        environment = {**os.environ, "PYTHONPATH": str(folder), "KERAS_BACKEND": backend}
        environment["TF_CPP_MIN_LOG_LEVEL"] = "3"
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, "-m", markers, *tests],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip
        noted = folder / "imported"
        imported = set(noted.read_text().splitlines() if noted.exists() else ())
        if imported != {str(folder / PACKAGE / "__init__.py")}:
            raise SystemExit(f"The tests imported another package: {imported}\n{done.stdout}")
    failure = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    broken = re.search(r"^E +(Import|ModuleNotFound|Name)Error", done.stdout, re.MULTILINE)
    passed = done.returncode in (0, NO_TESTS)
    if (not passed and (done.returncode != 1 or not failure)) or broken:
        raise RuntimeError(f"pytest exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return failure[1] if failure else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="substrings of the names of faults; default: all")
    parser.add_argument("--tests", type=Path, default=Path(__file__).parents[2], metavar="FOLDER",
                        help="checkout that provides the package and the tests")  # fmt: skip
    parser.add_argument("--clean", action="store_true", help="run the tests without a fault")
    arguments = parser.parse_args()
    checkout = arguments.tests.resolve()
    faults = [x for x in FAULTS if not arguments.names or any(n in x.name for n in arguments.names)]
    if arguments.clean:
        for backend in sorted({fault.backend for fault in faults}):
            of_backend = (fault.tests for fault in faults if fault.backend == backend)
            if failure := run(checkout, sorted(set().union(*of_backend)), backend):
                raise SystemExit(f"On {backend} a test fails without a fault: {failure}")
        return
    print("| fault | where | detected by | seconds |\n|---|---|---|---|", flush=True)
    detected, begun = 0, time.monotonic()
    for fault in faults:
        start = time.monotonic()
        try:
            arguments = (checkout, fault.tests, fault.backend, fault, TIMEOUT)
            failure = next(filter(None, (run(*arguments, x) for x in MARKERS)), None)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{fault.name}: {error}", file=sys.stderr, flush=True)
            result = "ERROR"
        else:
            detected += failure is not None
            result = f"`{failure}`" if failure else "**not detected**"
        seconds = time.monotonic() - start
        print(f"| {fault.name} | `{fault.where}` | {result} | {seconds:.0f} |", flush=True)
    print(f"\n{detected} of {len(faults)} faults detected in {time.monotonic() - begun:.0f} s")
    raise SystemExit(detected < len(faults))


if __name__ == "__main__":
    main()
