"""A disk on which nothing more fits."""

import contextlib

import pytest


@contextlib.contextmanager
def full_disk(size):
    """No file can grow beyond a size in bytes."""
    resource = pytest.importorskip("resource", reason="needs POSIX limits of file size")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
