"""Settings of the training process: memory allocator and oneDNN."""

import os
import platform
import subprocess
import sys

import pytest

# Repeatedly allocates 100 MB, more than glibc retains by default, in a separate thread.
ALLOCATE_MEMORY = """
import ctypes, resource, sys, threading
from keras_transformer.training.process import tune_process
if sys.argv[1] == "tuned":
    tune_process()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
counts = []
def use():
    for _ in range(5):
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
        block = libc.malloc(100 << 20)
        ctypes.memset(block, 1, 100 << 20)
        libc.free(block)
thread = threading.Thread(target=use)
thread.start()
thread.join()
print(counts[4] - counts[1])
"""


def output(code, *arguments, **variables):
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.check_output(command, env=environment, text=True)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the allocator of glibc")
def test_freed_memory_is_reused():
    faults = {mode: int(output(ALLOCATE_MEMORY, mode)) for mode in ("tuned", "default")}
    assert faults["tuned"] < 100 < faults["default"], faults


@pytest.mark.parametrize("setting", ["0", "1"])
def test_a_user_setting_is_kept(setting):
    code = """
import os
from keras_transformer.training.process import tune_process
tune_process()
print(os.environ["TF_ENABLE_ONEDNN_OPTS"])
"""
    assert output(code, TF_ENABLE_ONEDNN_OPTS=setting) == f"{setting}\n"


def test_onednn_is_enabled_by_default():
    code = """
import os, sys
os.environ.pop("TF_ENABLE_ONEDNN_OPTS", None)
from keras_transformer.training.process import tune_process
tune_process()
assert "keras" not in sys.modules
print(os.environ["TF_ENABLE_ONEDNN_OPTS"])
"""
    assert output(code) == "1\n"
