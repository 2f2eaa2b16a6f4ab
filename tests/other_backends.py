"""Programs of the tests that run on a backend other than this one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest
from quick import some_of

_BACKENDS = ("tensorflow", "jax", "torch")
_OTHERS = [name for name in _BACKENDS if name != keras.config.backend()]
# `make test-slow` compares with one other backend, `make test-all` with both.
other_backends = pytest.mark.parametrize("other", some_of(_OTHERS, quick=_OTHERS[:1]))


def run_on(backend, code, *arguments, blocked=(), **options):
    """Runs code in a process with a backend; skips the test if that is not installed.

    Args:
        backend: name of the backend.
        code: Python source, which can import the modules of the tests.
        *arguments: the arguments in `sys.argv`.
        blocked: names of modules that cannot be imported in the process.
        **options: see `subprocess.run`.

    Returns:
        The standard output.
    """
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"needs {backend}")
    tests = Path(__file__).parent
    own = [tests / name for name in ("backends", "inference", "training")]
    environment = {
        "KERAS_BACKEND": backend,
        "PYTHONPATH": os.pathsep.join(map(str, [tests.parent, tests, *own])),
    }
    # Importing a module fails if its entry in `sys.modules` is None.
    code = f"import sys; sys.modules.update(dict.fromkeys({list(blocked)}))\n{code}"
    process = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        **options,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout
