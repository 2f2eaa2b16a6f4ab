"""Settings of the process that make training on a CPU faster."""

import ctypes
import os
import platform

# Of mallopt(3), which only glibc has.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8


def tune_process():
    """Sets up this process for training on a CPU: oneDNN, and memory that is kept.

    TensorFlow uses oneDNN only on CPUs with AVX-512 or newer instructions, although it is faster
    with AVX2 as well. A value of `TF_ENABLE_ONEDNN_OPTS` that the user has set stays.

    glibc maps each large tensor into memory anew in each step, page by page, and gives it back
    afterwards. From here on it keeps what is freed for what is allocated next, so the process never
    becomes smaller again. Without glibc, nothing is changed.

    It is for programs that train. Call it first: before Keras is imported, and before threads
    allocate memory. `import keras_transformer` does not import Keras.

    Example:
        from keras_transformer.training.process import tune_process

        tune_process()
        import keras
    """
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    if platform.libc_ver()[0] == "glibc":
        mallopt = ctypes.CDLL(None).mallopt
        # One arena, because those of threads cannot hold a tensor above 64 MB.
        for option, value in ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, 2**31 - 1)):
            mallopt(option, value)
