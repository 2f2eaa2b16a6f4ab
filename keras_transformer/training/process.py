"""Process settings that speed up training on a CPU."""

import ctypes
import os
import platform

# Parameters of mallopt(3), which only glibc has.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8


def tune_process() -> None:
    """Speeds up training on a CPU: turns oneDNN on and keeps freed memory in the process.

    TensorFlow uses oneDNN only on CPUs with AVX-512 or newer instructions, although it is faster
    with AVX2 as well. A `TF_ENABLE_ONEDNN_OPTS` set by the user takes precedence.

    glibc maps memory for every large tensor in each step and returns it afterwards. With
    these settings it reuses freed memory, so the process never shrinks. Without glibc, this part
    has no effect.

    Call it first in a program that trains: before Keras is imported, and before threads allocate
    memory. `import keras_transformer` alone does not import Keras.

    Example:
        from keras_transformer.training.process import tune_process

        tune_process()
        import keras
    """
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    if platform.libc_ver()[0] == "glibc":
        mallopt = ctypes.CDLL(None).mallopt
        # One arena, because the arenas of threads cannot hold a tensor above 64 MB.
        for option, value in ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, 2**31 - 1)):
            mallopt(option, value)
