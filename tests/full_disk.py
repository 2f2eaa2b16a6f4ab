"""Simulation of a full disk."""

import contextlib

import pytest


@contextlib.contextmanager
def full_disk(size):
    """Limits the size of every file to `size` bytes, so that writing more fails."""
    resource = pytest.importorskip("resource", reason="needs POSIX limits of file size")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
