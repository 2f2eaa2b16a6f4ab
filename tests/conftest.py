"""What every test begins with: quiet logs and the same random numbers."""

import os
import random
import signal
import zlib
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Many tests compile the same little programs with JAX: once is enough.
_CACHE = Path(__file__).resolve().parents[1] / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")

# A process that a shell starts in the background ignores Ctrl-C, and so would those of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest.register_assert_rewrite("layer_contract", "translator_contract", "keras_transformer.testing")


def pytest_addoption(parser):
    parser.addoption("--slice", metavar="K/N", help="run the K-th of N equal parts of the tests")


def pytest_collection_modifyitems(config, items):
    """Keeps the tests of a slice, which the hash of a test's name decides."""
    if config.getoption("--slice") is None:
        return
    part, parts = map(int, config.getoption("--slice").split("/"))
    if not 1 <= part <= parts:
        raise pytest.UsageError(f"--slice must be K/N with 1 <= K <= N. Received: {part}/{parts}")
    kept = [item for item in items if zlib.crc32(item.nodeid.encode()) % parts == part - 1]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


@pytest.fixture(autouse=True)
def seed():
    # Keras draws the seeds of its initializers and dropouts from `random`. Its own
    # `set_random_seed` would import TensorFlow whatever the backend.
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(scope="module", autouse=True)
def free_compiled_programs():
    """Frees what JAX has compiled for a module: a process has room for a limited number."""
    yield
    if os.environ.get("KERAS_BACKEND") == "jax":
        import jax

        jax.clear_caches()


@pytest.fixture(scope="session")
def other_process():
    """One for all tests, for it takes seconds to start."""
    from layer_contract import OtherProcess

    process = OtherProcess()
    yield process
    process.close()
