"""Reads published weights from a folder in the Hugging Face layout."""

import math
import re
from pathlib import Path

import keras

from keras_transformer._utils.reading import check_regular, excerpt, read_json

# Constant tables, and a copy of the token embeddings.
_ALWAYS_IGNORED = ("embeddings.position_ids", "cls.predictions.decoder.", "rotary_emb.inv_freq")
_FLOATS = ("F64", "F32", "F16", "BF16")
_MAX_CONFIG = 1 << 22  # bytes; the names of 20,000 labels have 1 MB
_MAX_SHARDS = 1000
_SHARD = re.compile(r"[\w-][\w.-]*\.safetensors")
_OLD_SUFFIXES = {".gamma": ".weight", ".beta": ".bias"}  # of LayerNorm in old checkpoints


class Checkpoint:
    """The weights of a published model, each of which is loaded exactly once.

    Loading reads a weight, after its shape was compared, and removes it from the checkpoint.
    Weights that are missing or have the wrong shape are collected; `check_complete` reports them
    together with the unexpected ones.

    Args:
        folder: path of a folder with `config.json` and `model.safetensors`, or several files of
            weights that `model.safetensors.index.json` lists.
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
        path = self._existing_file(self.folder / "config.json")
        self.config = read_json(path, max_bytes=_MAX_CONFIG)
        self.model_type = self.config.get("model_type")
        if self.model_type not in model_types:
            raise ValueError(
                f"{self.folder} holds a model of another architecture: expected "
                f"{' or '.join(model_types)}. Received: {excerpt(self.model_type)}"
            )
        self._weights = self._open_weights()
        self._problems = []

    @property
    def path(self):
        """Path of the file with the weights, or of the index of several."""
        index = self.folder / "model.safetensors.index.json"
        return index if index.exists() else self.folder / "model.safetensors"

    @property
    def num_parameters(self):
        """Number of parameters that are not yet loaded."""
        return sum(math.prod(weight.get_shape()) for *_, weight in self._weights.values())

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

    def _open_weights(self):
        """Returns a dictionary from current names to open files, names there and slices."""
        if self.path.suffix != ".json":
            return _open_file(self._existing_file(self.path))
        listed = read_json(self.path).get("weight_map")
        if not isinstance(listed, dict) or not all(
            isinstance(name, str) and _SHARD.fullmatch(name) for name in listed.values()
        ):
            raise ValueError(
                f"{self.path} must list the file of each weight, in the same folder. "
                f"Received: {excerpt(listed)}"
            )
        names = sorted(set(listed.values()))
        if not 1 <= len(names) <= _MAX_SHARDS:
            raise ValueError(
                f"{self.path} must list 1 to {_MAX_SHARDS} files. Received: {len(names)}"
            )
        opened = [_open_file(self._existing_file(self.folder / name)) for name in names]
        weights = {name: weight for shard in opened for name, weight in shard.items()}
        if len(weights) != sum(map(len, opened)) or weights.keys() != set(
            map(_current_name, listed)
        ):
            raise ValueError(
                f"{self.path} must list each weight of its files once: download all files again. "
                f"Received: {len(listed)} weights, but {sum(map(len, opened))} in the files"
            )
        return weights

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
        *_, weight = self._weights[name]
        return tuple(weight.get_shape())

    def load_layer(self, layer, name):
        """Copies the weights of a layer.

        Args:
            layer: a built `Dense`, `Embedding`, `LayerNormalization` or `RMSNormalization`.
            name: prefix of the names of its weights, without the dot.
        """
        for variable in layer.weights:
            suffix = "bias" if variable.name in ("bias", "beta") else "weight"
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
        file, stored_name, weight = self._weights.pop(name)
        if found != shape:
            self._problems.append(f"{name} has the shape {excerpt(found)} instead of {shape}")
            return None
        if weight.get_dtype() not in _FLOATS:
            self._problems.append(
                f"{name} has the dtype {weight.get_dtype()} instead of one of {_FLOATS}"
            )
            return None
        return file.get_tensor(stored_name).astype("float32")

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
                f"Received: {self.path.name} with {len(problems)} mismatched weights"
            )


def _open_file(path):
    """Returns a dictionary from current names to the open file, the name there and the slice."""
    from safetensors import SafetensorError, safe_open

    check_regular(path)
    try:
        file = safe_open(path, framework="numpy")
        names = {_current_name(name): name for name in file.keys()}  # noqa: SIM118
        return {current: (file, name, file.get_slice(name)) for current, name in names.items()}
    except SafetensorError as error:
        raise ValueError(
            f"{path} is damaged or truncated: download it again ({excerpt(str(error))}). "
            f"Received: {path}"
        ) from None


def _current_name(name):
    for old, new in _OLD_SUFFIXES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name
