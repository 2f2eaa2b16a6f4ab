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


def load(path):
    """Returns a function from inputs to the list of outputs of the model saved at `path`."""
    model = keras.models.load_model(path)
    # JAX compiles a whole model in less time than each of its operations.
    call = model.predict_on_batch if keras.config.backend() == "jax" else model
    return lambda inputs: [keras.ops.convert_to_numpy(y) for y in keras.tree.flatten(call(inputs))]


class ThisProcess:
    """Loads saved models here."""

    def load(self, path):
        return load(path)

    def close(self):
        pass


class OtherProcess:
    """Loads them in a separate process, which knows only what importing the package registers."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "KERAS_BACKEND": keras.config.backend()},
        )

    def load(self, path):
        def apply(inputs):
            np.savez(path.parent / "inputs.npz", *keras.tree.flatten(inputs))
            print(path, file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
            assert answer == "done\n", answer.replace("\\n", "\n")
            return list(np.load(path.parent / "outputs.npz").values())

        return apply

    def close(self):
        self._process.communicate()


if __name__ == "__main__":
    for line in sys.stdin:
        path = Path(line.rstrip())
        try:
            inputs = list(np.load(path.parent / "inputs.npz").values())
            inputs = inputs if len(inputs) > 1 else inputs[0]
            np.savez(path.parent / "outputs.npz", *load(path)(inputs))
            print("done", flush=True)
        except Exception:
            print(repr(traceback.format_exc()), flush=True)
