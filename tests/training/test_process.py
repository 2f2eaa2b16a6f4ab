"""The settings of a process that trains."""

import os
import platform
import subprocess
import sys

import pytest

# Uses 100 MB, more than glibc keeps by itself, again and again, in a thread of its own.
USE_MEMORY = """
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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator of glibc")
def test_freed_memory_is_used_again():
    faults = {how: int(output(USE_MEMORY, how)) for how in ("tuned", "as it is")}
    assert faults["tuned"] < 100 < faults["as it is"], faults


@pytest.mark.parametrize("own", ["0", "1"])
def test_a_setting_of_the_user_stays(own):
    code = """
import os
from keras_transformer.training.process import tune_process
tune_process()
print(os.environ["TF_ENABLE_ONEDNN_OPTS"])
"""
    assert output(code, TF_ENABLE_ONEDNN_OPTS=own) == f"{own}\n"


def test_onednn_is_on_otherwise():
    code = """
import os, sys
os.environ.pop("TF_ENABLE_ONEDNN_OPTS", None)
from keras_transformer.training.process import tune_process
tune_process()
assert "keras" not in sys.modules
print(os.environ["TF_ENABLE_ONEDNN_OPTS"])
"""
    assert output(code) == "1\n"
