"""Published weights: a folder in the layout of Hugging Face, read into our layers by name."""

import json
from pathlib import Path

import keras

# Tables of numbers that are no weights, and copies of the words' vectors.
_NO_WEIGHTS = ("embeddings.position_ids", "cls.predictions.decoder.")
_OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}  # of norms


class Checkpoint:
    """The weights of a published model, each of which is used once.

    Args:
        folder: path of a folder with `config.json` and `model.safetensors`.
        model_types: the architectures that are understood, as `config.json` calls them.

    Attributes:
        config: what `config.json` says, a dictionary.
        model_type: the architecture.

    Raises:
        FileNotFoundError: if the folder or one of the files is not there.
        ValueError: if a file is damaged, or the architecture another.
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
        self._complaints = []

    def _file(self, name):
        path = self.folder / name
        pickled = self.folder / "pytorch_model.bin"
        if name == "model.safetensors" and not path.is_file() and pickled.is_file():
            kind = (self.config.get("architectures") or ["AutoModel"])[0]
            raise FileNotFoundError(
                f"The weights are in {pickled.name} alone, and to read such a file can run any "
                "code. Have `transformers` convert it: "
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
        path = self._file("config.json")
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error}. Received: {path}") from None
        if not isinstance(config, dict):
            raise ValueError(f"{path} must hold a dictionary. Received: {path}")
        return config

    def _read_weights(self):
        from safetensors import SafetensorError, safe_open

        path = self._file("model.safetensors")
        try:
            with safe_open(path, framework="numpy") as file:
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, TypeError) as error:
            raise ValueError(
                f"{path} is damaged or was cut short: fetch it again. The reader says: {error}. "
                f"Received: {path}"
            ) from None
        return {_new_name(name): array for name, array in weights.items()}

    def has(self, name):
        """Whether there are weights under a name, or under names that begin with it and a dot."""
        return any(key == name or key.startswith(f"{name}.") for key in self._weights)

    def shape(self, name):
        """The shape of a weight.

        Raises:
            ValueError: if there is none of this name.
        """
        if name not in self._weights:
            raise ValueError(
                f"{self.folder} lacks the weights for this task: {name} is missing. "
                f"Received: architectures={self.config.get('architectures')}"
            )
        return self._weights[name].shape

    def load(self, layer, name):
        """Copies the weights of a layer.

        What does not fit is remembered until `finish`.

        Args:
            layer: a built Dense, Embedding or LayerNormalization.
            name: what its weights' names begin with.
        """
        suffixes = ("weight",) if isinstance(layer, keras.layers.Embedding) else ("weight", "bias")
        for variable, suffix in zip(layer.weights, suffixes, strict=True):
            turned = isinstance(layer, keras.layers.Dense) and suffix == "weight"
            self.load_variable(variable, f"{name}.{suffix}", turned)

    def load_variable(self, variable, name, turned=False):
        """Copies one weight, likewise; `turned` if its axes are in the other order."""
        shape = tuple(variable.shape)
        array = self.take(name, shape[::-1] if turned else shape)
        if array is not None:
            variable.assign(array.T if turned else array)

    def take(self, name, shape):
        """One weight, float32, to be used now; None if there is none of this name and shape.

        What does not fit is remembered until `finish`.
        """
        if name not in self._weights:
            self._complaints.append(f"{name} is missing")
            return None
        array = self._weights.pop(name)
        if array.shape != shape:
            self._complaints.append(f"{name} has the shape {array.shape} instead of {shape}")
            return None
        return array.astype("float32")

    def finish(self, ignored=()):
        """Complains about every weight that was missing, did not fit or is left over.

        Args:
            ignored: beginnings of the names that may be left over.

        Raises:
            ValueError: if there is one.
        """
        left = [name for name in sorted(self._weights) if not name.startswith(tuple(ignored))]
        left = [name for name in left if not any(part in name for part in _NO_WEIGHTS)]
        complaints = [*self._complaints, *(f"{name} is left over" for name in left)]
        if complaints:
            raise ValueError(
                f"The weights of {self.folder} do not fit: {'; '.join(complaints)}. "
                f"Received: model.safetensors with {len(complaints)} such weights"
            )


def _new_name(name):
    for old, new in _OLD_NAMES.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name
