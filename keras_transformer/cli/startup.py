"""Imports Keras and its backend quickly and without TensorFlow's start-up lines."""

import contextlib
import gc
import os
import re
import sys
import tempfile
from pathlib import Path

from keras_transformer.training.process import tune_process

# What TensorFlow logs while it is imported and looks for GPUs, even at the highest log level.
_LOG_LINE = re.compile(
    rb"[IWE]\d{4} [\d:.]+ +\d+ \S+:\d+\]|WARNING: All log messages before absl::InitializeLog"
    rb"|To enable the following instructions: "
)


_MAX_CACHE_SIZE = 2**30  # bytes


def import_backend(tuned=False):
    """Imports Keras and its backend, if they are not imported yet.

    A command calls it after it has checked its arguments, which must not wait for the import.

    TensorFlow's start-up lines are hidden unless the environment variable `TF_CPP_MIN_LOG_LEVEL`
    is 0 or 1. If the import fails, they are shown.

    Args:
        tuned: whether to call `tune_process` first, which a command that trains needs.
    """
    if tuned:
        tune_process()
    if "keras" in sys.modules:
        return
    level = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    _keep_compiled_programs()
    # The objects that an import creates stay. Looking for garbage among them, during the import and
    # in each later collection, would take a quarter of the time of a short command.
    gc.disable()
    try:
        with contextlib.nullcontext() if level in ("0", "1") else _hidden_log_lines():
            _import()
    finally:
        gc.freeze()
        gc.enable()


def _keep_compiled_programs():
    """Lets JAX keep what it compiles in the user's cache folder, for the next command.

    Compiling the step of a large model takes half a minute for each length of sentences on a GPU.
    A `JAX_COMPILATION_CACHE_DIR` set by the user takes precedence; empty, it turns the cache off.
    """
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(caches, "keras_transformer", "jax")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    os.environ.setdefault("JAX_COMPILATION_CACHE_MAX_SIZE", str(_MAX_CACHE_SIZE))


def _import():
    import keras_transformer as kt

    kt.Trainer  # noqa: B018 - importing any public name imports all of them and the backend
    import keras

    from keras_transformer.backends import backend_module

    if keras.config.backend() == "tensorflow":
        backend_module().describe_device()  # looks for GPUs


@contextlib.contextmanager
def _hidden_log_lines():
    """Hides lines of TensorFlow's log from standard error, below Python, within the context."""
    sys.stderr.flush()
    original, pattern = os.dup(2), _LOG_LINE
    with tempfile.TemporaryFile() as hidden:
        os.dup2(hidden.fileno(), 2)
        try:
            yield
        except Exception:
            pattern = None
            raise
        finally:
            sys.stderr.flush()
            os.dup2(original, 2)
            os.close(original)
            hidden.seek(0)
            for line in hidden:
                if pattern is None or not pattern.match(line):
                    os.write(2, line)
