"""Reads published weights from a folder in the Hugging Face layout."""

import math
from pathlib import Path

import keras

from keras_transformer._utils.reading import check_regular, excerpt, read_json

# A constant table, and a copy of the token embeddings.
_ALWAYS_IGNORED = ("embeddings.position_ids", "cls.predictions.decoder.")
_FLOATS = ("F64", "F32", "F16", "BF16")
_MAX_CONFIG = 1 << 22  # bytes; the names of 20,000 labels have 1 MB
_OLD_SUFFIXES = {".gamma": ".weight", ".beta": ".bias"}  # of LayerNorm in old checkpoints


class Checkpoint:
    """The weights of a published model, each of which is loaded exactly once.

    Loading reads a weight, after its shape was compared, and removes it from the checkpoint.
    Weights that are missing or have the wrong shape are collected; `check_complete` reports them
    together with the unexpected ones.

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
                f"{' or '.join(model_types)}. Received: {excerpt(self.model_type)}"
            )
        self._file, self._weights = self._open_weights()
        self._problems = []

    @property
    def path(self):
        """Path of the file with the weights."""
        return self.folder / "model.safetensors"

    @property
    def num_parameters(self):
        """Number of parameters that are not yet loaded."""
        return sum(math.prod(weight.get_shape()) for _, weight in self._weights.values())

    def _existing_file(self, path):
        pickled = self.folder / "pytorch_model.bin"
        if path == self.path and not path.exists() and pickled.exists():
            architectures = self.config.get("architectures")
            kind = architectures[0] if architectures and type(architectures) is list else None
            raise FileNotFoundError(
                f"The weights are only in {pickled.name}, and loading a pickle file can run any "
                "code. Convert it with `transformers`: "
                f"{kind if isinstance(kind, str) else 'AutoModel'}.from_pretrained(folder)."
                f"save_pretrained(folder) writes {path.name}. Received: {self.folder}"
            )
        if not path.exists():
            raise FileNotFoundError(
                f"A published model is a folder with config.json and model.safetensors. "
                f"There is no {path.name}. Received: {self.folder}"
            )
        return path

    def _read_config(self):
        return read_json(self._existing_file(self.folder / "config.json"), max_bytes=_MAX_CONFIG)

    def _open_weights(self):
        """Returns the open file, and a dictionary from current names to slices of the weights."""
        from safetensors import SafetensorError, safe_open

        check_regular(self._existing_file(self.path))
        try:
            file = safe_open(self.path, framework="numpy")
            names = {_current_name(name): name for name in file.keys()}  # noqa: SIM118
            return file, {current: (name, file.get_slice(name)) for current, name in names.items()}
        except SafetensorError as error:
            raise ValueError(
                f"{self.path} is damaged or truncated: download it again ({excerpt(str(error))}). "
                f"Received: {self.path}"
            ) from None

    def has(self, name):
        """Whether there is a weight called `name`, or one whose name begins with `name.`."""
        return any(key == name or key.startswith(f"{name}.") for key in self._weights)

    def shape(self, name):
        """Returns the shape of a weight.

        Raises:
            ValueError: if there is no weight of this name, or it is a scalar or empty.
        """
        if name not in self._weights:
            raise ValueError(
                f"{self.folder} lacks the weights for this task: {name} is missing. "
                f"Received: architectures={excerpt(self.config.get('architectures'))}"
            )
        shape = self._stored_shape(name)
        if not math.prod(shape) or not shape:
            raise ValueError(f"{name} must be a non-empty array. Received: shape {shape}")
        return shape

    def _stored_shape(self, name):
        _, weight = self._weights[name]
        return tuple(weight.get_shape())

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
            A float32 NumPy array; None if the weight is missing, does not have this shape, or is
            not of floats.
        """
        if name not in self._weights:
            self._problems.append(f"{name} is missing")
            return None
        found = self._stored_shape(name)
        stored_name, weight = self._weights.pop(name)
        if found != shape:
            self._problems.append(f"{name} has the shape {excerpt(found)} instead of {shape}")
            return None
        if weight.get_dtype() not in _FLOATS:
            self._problems.append(
                f"{name} has the dtype {weight.get_dtype()} instead of one of {_FLOATS}"
            )
            return None
        return self._file.get_tensor(stored_name).astype("float32")

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
