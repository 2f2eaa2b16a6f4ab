"""Setup of all tests: quiet logs, fixed random seeds and shared fixtures."""

import os
import random
import signal
import zlib
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Many tests compile the same small programs with JAX; the cache compiles each of them once.
_CACHE = Path(__file__).resolve().parents[1] / ".pytest_cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")

# A process that a shell starts in the background ignores Ctrl-C, and its children inherit that.
# The tests of interrupts need the default handler.
signal.signal(signal.SIGINT, signal.default_int_handler)

_CONTRACTS = [f"{kind}_contract" for kind in ("block", "layer", "model", "translator")]
pytest.register_assert_rewrite(*_CONTRACTS, "keras_transformer.testing")


def pytest_addoption(parser):
    parser.addoption("--slice", metavar="K/N", help="run the K-th of N equal parts of the tests")
    parser.addoption("--also", default="", help="files whose tests --slice keeps, by a space")


def pytest_collection_modifyitems(config, items):
    """Keeps the tests of the requested slice, which are chosen by the hash of their names."""
    if config.getoption("--slice") is None:
        return
    part, parts = map(int, config.getoption("--slice").split("/"))
    if not 1 <= part <= parts:
        raise pytest.UsageError(f"--slice must be K/N with 1 <= K <= N. Received: {part}/{parts}")
    also = config.getoption("--also").split()
    kept = [
        item
        for item in items
        if zlib.crc32(item.nodeid.encode()) % parts == part - 1
        or item.nodeid.split("::")[0] in also
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


@pytest.fixture(autouse=True)
def seed():
    # Keras draws the seeds of initializers and dropout layers from `random`. Its own
    # `set_random_seed` would import TensorFlow with every backend.
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(scope="module", autouse=True)
def free_compiled_programs():
    """Frees JAX's compiled programs after each module, because their number is limited."""
    yield
    if os.environ.get("KERAS_BACKEND") == "jax":
        import jax

        jax.clear_caches()


@pytest.fixture(
    scope="session", params=("here", pytest.param("elsewhere", marks=pytest.mark.exhaustive))
)
def process(request):
    """Applies saved models in this process, or in one other process for all tests."""
    from saved_models import OtherProcess, ThisProcess

    process = ThisProcess() if request.param == "here" else OtherProcess()
    yield process
    process.close()
