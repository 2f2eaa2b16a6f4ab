"""Loads and applies saved models, in this process or, run as a program, in another one."""

import os
import subprocess
import sys
import traceback
from pathlib import Path

import keras
import numpy as np

import keras_transformer.layers
import keras_transformer.models  # noqa: F401


def apply(folder):
    """Loads `model.keras`, applies it to `inputs.npz`, and writes `output.npy`."""
    model = keras.models.load_model(folder / "model.keras")
    inputs = list(np.load(folder / "inputs.npz").values())
    # JAX compiles a whole model in less time than each of its operations.
    jax = keras.config.backend() == "jax"
    y = model.predict_on_batch(inputs) if jax else model(inputs)
    np.save(folder / "output.npy", keras.ops.convert_to_numpy(y))


class ThisProcess:
    """Applies saved models here. A subclass does so elsewhere."""

    def apply(self, folder):
        apply(folder)

    def load(self, path):
        """Returns a function that applies the model saved at `path`."""

        def function(inputs):
            np.savez(path.parent / "inputs.npz", *inputs)
            self.apply(path.parent)
            return np.load(path.parent / "output.npy")

        return function

    def close(self):
        pass


class OtherProcess(ThisProcess):
    """A separate Python process, which knows only what importing the package registers."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "KERAS_BACKEND": keras.config.backend()},
        )

    def apply(self, folder):
        print(folder, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer == "done\n", answer.replace("\\n", "\n")

    def close(self):
        self._process.communicate()


if __name__ == "__main__":
    for line in sys.stdin:
        try:
            apply(Path(line.rstrip()))
            print("done", flush=True)
        except Exception:
            print(repr(traceback.format_exc()), flush=True)
