"""Imports the package for the scripts. Where it is not installed, says in one line what to run."""

import importlib.util
import os
import shlex
import shutil
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_NEEDED = ("keras_transformer", "keras", "numpy")


def _remedy():
    """Returns a command for a shell in the current directory."""
    root = os.path.relpath(_ROOT)
    environment = os.path.join(_ROOT, ".venv")
    python = os.path.normpath(os.path.join(root, ".venv/bin/python"))
    again = shlex.join([python, *sys.argv])
    if os.path.realpath(sys.prefix) != os.path.realpath(environment):
        if os.path.exists(python):
            return again
        if sys.prefix == sys.base_prefix and shutil.which("make"):
            make = "make" if root == os.curdir else shlex.join(["make", "-C", root])
            return f"{make} .venv/tensorflow && {again}"
    # In an environment of the user's own, or one that is incomplete.
    return shlex.join([sys.executable, "-m", "pip", "install", "-e", f"{root}[tensorflow]"])


def _fail(problem):
    print(f"{os.path.basename(sys.argv[0])}: error: {problem}", file=sys.stderr)
    sys.exit(2)


_missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
if _missing:
    _fail(f"this Python has no {', '.join(_missing)}. Run: {_remedy()}")
try:
    from keras_transformer.cli import run_command as run_command
except ImportError as error:  # no backend, or another package of the same name
    _fail(error)
