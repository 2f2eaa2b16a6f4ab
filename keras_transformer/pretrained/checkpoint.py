"""Reads published weights from a folder in the Hugging Face layout."""

import json
from pathlib import Path

import keras

# A constant table, and a copy of the token embeddings.
_ALWAYS_IGNORED = ("embeddings.position_ids", "cls.predictions.decoder.")
_OLD_SUFFIXES = {".gamma": ".weight", ".beta": ".bias"}  # of LayerNorm in old checkpoints


class Checkpoint:
    """The weights of a published model, each of which is loaded exactly once.

    Loading removes a weight from the checkpoint. Weights that are missing or have the wrong shape
    are collected; `check_complete` reports them together with the unexpected ones.

    Args:
        folder: path of a folder with `config.json` and `model.safetensors`.
        model_types: the supported values of `model_type` in `config.json`.

    Attributes:
        config: content of `config.json`, a dictionary.
        model_type: `model_type` in `config.json`.

    Raises:
        FileNotFoundError: if the folder or a file is missing.
        ValueError: if a file is damaged or the architecture is not supported.
    """

    def __init__(self, folder, model_types):
        self.folder = Path(folder)
        self.config = self._read_config()
        self.model_type = self.config.get("model_type")
        if self.model_type not in model_types:
            raise ValueError(
                f"{self.folder} holds a model of another architecture: expected "
                f"{' or '.join(model_types)}. Received: {self.model_type!r}"
            )
        self._weights = self._read_weights()
        self._problems = []

    def _existing_file(self, name):
        path = self.folder / name
        pickled = self.folder / "pytorch_model.bin"
        if name == "model.safetensors" and not path.is_file() and pickled.is_file():
            kind = (self.config.get("architectures") or ["AutoModel"])[0]
            raise FileNotFoundError(
                f"The weights are only in {pickled.name}, and loading a pickle file can run any "
                "code. Convert it with `transformers`: "
                f"{kind}.from_pretrained(folder).save_pretrained(folder) writes {name}. "
                f"Received: {self.folder}"
            )
        if not path.is_file():
            raise FileNotFoundError(
                f"A published model is a folder with config.json and model.safetensors. "
                f"There is no {name}. Received: {self.folder}"
            )
        return path

    def _read_config(self):
        path = self._existing_file("config.json")
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error}. Received: {path}") from None
        if not isinstance(config, dict):
            raise ValueError(f"{path} must hold a dictionary. Received: {path}")
        return config

    def _read_weights(self):
        from safetensors import SafetensorError, safe_open

        path = self._existing_file("model.safetensors")
        try:
            with safe_open(path, framework="numpy") as file:
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, TypeError) as error:
            raise ValueError(
                f"{path} is damaged or truncated: download it again ({error}). Received: {path}"
            ) from None
        return {_current_name(name): array for name, array in weights.items()}

    def has(self, name):
        """Whether there is a weight called `name`, or one whose name begins with `name.`."""
        return any(key == name or key.startswith(f"{name}.") for key in self._weights)

    def shape(self, name):
        """Returns the shape of a weight.

        Raises:
            ValueError: if there is no weight of this name.
        """
        if name not in self._weights:
            raise ValueError(
                f"{self.folder} lacks the weights for this task: {name} is missing. "
                f"Received: architectures={self.config.get('architectures')}"
            )
        return self._weights[name].shape

    def load_layer(self, layer, name):
        """Copies the weights of a layer.

        Args:
            layer: a built `Dense`, `Embedding` or `LayerNormalization`.
            name: prefix of the names of its weights, without the dot.
        """
        suffixes = ("weight",) if isinstance(layer, keras.layers.Embedding) else ("weight", "bias")
        for variable, suffix in zip(layer.weights, suffixes, strict=True):
            transpose = isinstance(layer, keras.layers.Dense) and suffix == "weight"
            self.load_variable(variable, f"{name}.{suffix}", transpose)

    def load_variable(self, variable, name, transpose=False):
        """Copies one weight, transposed if `transpose`."""
        shape = tuple(variable.shape)
        array = self.pop(name, shape[::-1] if transpose else shape)
        if array is not None:
            variable.assign(array.T if transpose else array)

    def pop(self, name, shape):
        """Removes a weight from the checkpoint and returns it.

        Returns:
            A float32 NumPy array; None if the weight is missing or does not have this shape.
        """
        if name not in self._weights:
            self._problems.append(f"{name} is missing")
            return None
        array = self._weights.pop(name)
        if array.shape != shape:
            self._problems.append(f"{name} has the shape {array.shape} instead of {shape}")
            return None
        return array.astype("float32")

    def check_complete(self, ignored=()):
        """Checks that every weight was found with the right shape, and that none is unexpected.

        Args:
            ignored: prefixes of the names of weights that need not be loaded.

        Raises:
            ValueError: if a weight is missing, has the wrong shape or is unexpected. It names all.
        """
        unused = [name for name in sorted(self._weights) if not name.startswith(tuple(ignored))]
        unused = [name for name in unused if not any(part in name for part in _ALWAYS_IGNORED)]
        problems = [*self._problems, *(f"{name} is unexpected" for name in unused)]
        if problems:
            raise ValueError(
                f"The weights in {self.folder} do not match the model: {'; '.join(problems)}. "
                f"Received: model.safetensors with {len(problems)} mismatched weights"
            )


def _current_name(name):
    for old, new in _OLD_SUFFIXES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name
