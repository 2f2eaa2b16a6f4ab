"""The folder of a training run: everything that translating, scoring and resuming need."""

import csv
import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import keras
import numpy as np
from keras import ops

from keras_transformer._utils.command_line import command_line
from keras_transformer._utils.files import atomic_replace, reserve
from keras_transformer._utils.hdf5 import check_hdf5
from keras_transformer._utils.reading import excerpt, read_json, read_text, shorten
from keras_transformer._utils.types import PathLike
from keras_transformer.data.dataset import PreparedDataset
from keras_transformer.data.marian_tokenizer import AnyTokenizer, load_tokenizer
from keras_transformer.data.references import MAX_TEXT, read_references, reference_lines
from keras_transformer.data.token_shards import TokenShards
from keras_transformer.layers._parts import changed_part
from keras_transformer.models._translator import Translator
from keras_transformer.models.lora import has_lora, merged_in_float32, save_lora
from keras_transformer.runs.config import RunConfig
from keras_transformer.runs.model_description import ModelDescription
from keras_transformer.runs.own_model import build_model

HISTORY_COLUMNS = (
    "epoch", "loss", "accuracy", "validation_loss", "validation_accuracy", "learning_rate",
    "tokens_per_second", "seconds",
)  # fmt: skip
CURVE_COLUMNS = ("updates", "loss", "learning_rate")
SCORED_COLUMNS = (*HISTORY_COLUMNS, "validation_bleu")

# Makes a model from a `RunConfig`, or None, and the sizes of source and target vocabulary.
MakeModel: TypeAlias = Callable[[Any, int, int], Any]

_WEIGHTS = ".weights.h5"
_BYTES_PER_PARAMETER = 2  # at least, in float16


class RunFolder:
    """Reads and writes the files of a training run.

    The files are JSON, text and HDF5, so loading a run never executes code from it. Each file is
    replaced atomically: if writing fails, the previous one stays.

    Args:
        path: path of the folder, such as `runs/<name>`.

    Raises:
        FileNotFoundError: if a file to read is missing.
        ValueError: if a file to read is damaged or belongs to another run.
        OSError: if a file cannot be written.

    Example:
        >>> run = kt.RunFolder("runs/en-de")
        >>> run.exists
        False
        >>> run.weights_file("average").as_posix()
        'runs/en-de/weights/average.weights.h5'
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.weights = self.path / "weights" / f"best{_WEIGHTS}"
        self.history = self.path / "history.csv"
        self.curve = self.path / "curve.csv"
        self.curves = self.path / "curves.png"
        self._config = self.path / "config.json"
        self._model = self.path / "model.json"  # of a run without a `RunConfig`
        self._source_tokenizer = self.path / "source_tokenizer.json"
        self._target_tokenizer = self.path / "target_tokenizer.json"
        self._test = self.path / "test.tsv"
        self._data = self.path / "data.json"

    @property
    def exists(self) -> bool:
        """Whether the folder holds a run, finished or not."""
        return self._config.exists() or self._model.exists()

    @property
    def has_checkpoint(self) -> bool:
        """Whether the training has written a checkpoint, from which it can be resumed."""
        return any(self.checkpoints.glob("[0-9]*"))

    def begin(
        self,
        config: RunConfig | None,
        dataset: PreparedDataset,
        model: Translator | None = None,
    ) -> None:
        """Writes the description of a run before training starts or resumes.

        A run without a checkpoint is created, even if an attempt has failed in this folder; for a
        resumed one, only the configuration is replaced.

        Args:
            config: a `RunConfig`; None to describe the model instead.
            dataset: a `PreparedDataset`.
            model: the model to describe if there is no `RunConfig`.

        Raises:
            ValueError: if the `RunConfig` describes another model, or the run to resume has a
                different dataset.
        """
        described = config is not None and not config.has_own_model and model is not None
        if described and (changed := changed_part(model)):
            raise ValueError(
                "A RunConfig describes an unchanged model: omit `config`, or name the function "
                f"that makes the model, RunConfig(model=...). Received: {changed}"
            )
        if not (self.exists and self.has_checkpoint):
            self.create(config, dataset, model)
        else:
            self.check_dataset(dataset)
            if config is not None:
                self.write_config(config)

    def create(
        self, config: RunConfig | None, dataset: PreparedDataset, model: Translator | None = None
    ) -> None:
        """Writes the configuration, the tokenizers, the test part and digests of the data.

        If the configuration is None, `model.json` describes the model instead.
        """
        text = "" if config is not None else ModelDescription.from_model(model).to_json()
        dataset.source_tokenizer.save(self._source_tokenizer)
        dataset.target_tokenizer.save(self._target_tokenizer)
        _write_text(self._test, reference_lines(dataset.test))
        _write_text(self._data, json.dumps(data_digests(dataset), indent=2) + "\n")
        # Last, because `exists` looks for one of these files.
        if config is None:
            _write_text(self._model, text)
            self._config.unlink(missing_ok=True)
        else:
            self.write_config(config)
            self._model.unlink(missing_ok=True)

    def check_dataset(self, dataset: PreparedDataset) -> None:
        """Raises a ValueError if the run was started with a different dataset."""
        tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
        same_vocabulary = all(
            a.to_json() == b.to_json()
            for a, b in zip(self.read_tokenizers(), tokenizers, strict=True)
        )
        test = read_text(self._require(self._test), MAX_TEXT)
        saved = self._read_digests()
        same = {
            "vocabulary": same_vocabulary,
            "test part": test == reference_lines(dataset.test),
            **{f"{part} part": saved.get(part) == x for part, x in data_digests(dataset).items()},
        }
        if not all(same.values()):
            raise ValueError(
                f"{self.path} was started with different data, or by a version that prepared it "
                "differently: start a new run. Received: a different "
                f"{', '.join(name for name, is_same in same.items() if not is_same)}"
            )

    def write_config(self, config: RunConfig) -> None:
        """Writes the configuration."""
        _write_text(self._config, config.to_json())

    def read_config(self) -> RunConfig:
        """Returns the configuration, a `RunConfig`."""
        if self._described_by == self._model:
            raise ValueError(
                f"{self.path} was trained by a `Trainer` without a `RunConfig`: resume it with the "
                f"same program, or choose another folder. Received: {self._model}"
            )
        try:
            return RunConfig.from_json(read_text(self._require(self._config)))
        except ValueError as error:
            raise ValueError(f"{self._config} cannot be loaded: {error}") from None

    def read_tokenizers(self) -> tuple[AnyTokenizer, AnyTokenizer]:
        """Returns the source tokenizer and the target tokenizer."""
        files = (self._source_tokenizer, self._target_tokenizer)
        source, target = (load_tokenizer(self._require(file)) for file in files)
        return source, target

    def read_test(self) -> list[tuple[str, list[str]]]:
        """Returns the test part, a list of (source, list of references)."""
        return read_references(self._require(self._test), header=False)

    def read_history(self) -> list[dict[str, float]]:
        """Returns the training history, a list with a dictionary of numbers per epoch."""
        lines = read_text(self._require(self.history)).splitlines()
        try:
            rows = list(csv.DictReader(lines))
            history = [{name: float(row[name]) for name in _history_columns(rows)} for row in rows]
            check_history(history)
        except (csv.Error, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self.history} must have numbers in the columns {HISTORY_COLUMNS}. "
                f"Received: {type(error).__name__} {str(error)[:200]}"
            ) from None
        if not history:
            raise ValueError(f"{self.history} has no finished epochs. Received: an empty history")
        return history

    def write_history(self, history: list[dict[str, float]]) -> None:
        """Writes the training history, a list with a dictionary of numbers per epoch."""
        with atomic_replace(self.history) as temporary, open(temporary, "w", newline="") as file:
            writer = csv.DictWriter(file, _history_columns(history))
            writer.writeheader()
            writer.writerows(history)

    def write_curve(self, curve: list[list[float]]) -> None:
        """Writes the points of the loss curve: updates, loss and learning rate."""
        with atomic_replace(self.curve) as temporary, open(temporary, "w", newline="") as file:
            csv.writer(file).writerows([CURVE_COLUMNS, *curve])

    def read_curve(self) -> list[list[float]]:
        """Returns the points of the loss curve; none for a run of an earlier version."""
        if not self.curve.exists():
            return []
        try:
            _, *rows = csv.reader(read_text(self.curve).splitlines())
            curve = [[float(x) for x in row] for row in rows]
            check_curve(curve)
        except (csv.Error, ValueError) as error:
            raise ValueError(
                f"{self.curve} must have numbers in the columns {CURVE_COLUMNS}. "
                f"Received: {str(error)[:200]}"
            ) from None
        return curve

    def write_weights(self, model: Translator, name: str = "best") -> None:
        """Writes the weights of a model to `weights_file(name)`."""
        with atomic_replace(self.weights_file(name)) as temporary:
            reserve(temporary, model.variables)
            with merged_in_float32(model):  # of any class
                model.save_weights(temporary)
        if name == "best" and has_lora(model):
            save_lora(model, self.weights.with_name("adapters.safetensors"))

    def write_epoch_weights(self, model: Translator, epoch: int, keep: int) -> None:
        """Writes the weights of an epoch and removes those of all but the last `keep` epochs."""
        self.write_weights(model, f"epoch-{epoch:04d}")
        for file in self.epoch_weights()[:-keep]:
            file.unlink()

    def epoch_weights(self) -> list[Path]:
        """Returns the paths of the weights of single epochs, sorted by epoch."""
        return sorted(self.weights.parent.glob("epoch-*.weights.h5"))

    def weights_file(self, name: str) -> Path:
        """Returns the path of the weights of the given name."""
        return self.weights.with_name(f"{name}{_WEIGHTS}")

    def read_model(
        self,
        dtype: str = "float32",
        weights: str = "best",
        make_model: MakeModel | None = None,
    ) -> Translator:
        """Builds the model of the run and loads its weights.

        Args:
            dtype: dtype policy of the model. The weights are always stored in float32.
            weights: name of the weights, such as "best", "average" or "epoch-0012".
            make_model: the function that made the model of the run, see `train_run`; it is called
                with the `RunConfig`, or None if the run has none. It is not needed, and not used,
                for a model of the library.

        Returns:
            A built model.
        """
        description, model = self._read_description(), None
        if not self.weights_file(weights).exists() and self.weights.exists():
            raise FileNotFoundError(self._describe_missing(weights))
        file = self._require(self.weights_file(weights))
        if description.made_by_library or make_model is None:
            description.check_made_by_library(self.path)
        else:  # an error of the user's function is not one of the file
            config = self.read_config() if self._described_by == self._config else None
            model = build_run_model(config, self.read_tokenizers(), dtype, make_model)
        try:
            check_hdf5(file)
            if model is None:
                if file.stat().st_size < _BYTES_PER_PARAMETER * description.least_parameters():
                    raise ValueError("the file is too small for this model")
                model = build_model(description.make, dtype)
            found = check_hdf5(file, model.variables)
            floats = [x for x in model.variables if keras.backend.is_float_dtype(x.dtype)]
            if found != len(floats):  # Keras ignores further ones
                raise ValueError(f"it has {found} weights, the model {len(floats)}")
            model.load_weights(file)
            _check_finite(model)
        except (ValueError, OSError, KeyError, TypeError, AttributeError, RuntimeError) as error:
            raise ValueError(
                f"{file} does not match {self._described_by}: it belongs to another run or is "
                f"damaged. Received: {shorten(' '.join(str(error).split()), 500)}"
            ) from None
        return model

    @property
    def _described_by(self):
        """The file that describes the model."""
        only_model = self._model.exists() and not self._config.exists()
        return self._model if only_model else self._config

    def _read_description(self):
        if self._described_by == self._config:
            sizes = [tokenizer.vocab_size for tokenizer in self.read_tokenizers()]
            return ModelDescription.from_config(self.read_config(), sizes)
        return ModelDescription.from_json(read_text(self._model), self._model)

    def _describe_missing(self, weights):
        names = sorted(
            x.name.removesuffix(_WEIGHTS) for x in self.weights.parent.glob(f"*{_WEIGHTS}")
        )
        average = command_line("average-checkpoints", self.path)
        return (
            f"{self.path} has no weights {excerpt(weights)}, but {names}. A run that was trained "
            f"with --keep-weights has those of its last epochs, which are averaged with: {average}"
        )

    def _read_digests(self):
        if not self._data.exists() and self.weights.exists():
            begin = command_line("train", "--from", self.path, "--data", "FILE", "--run", "NEW")
            raise FileNotFoundError(
                f"{self.path} translates, but cannot be resumed, because it has no "
                f"{self._data.name}. Begin a run with its weights: {begin}"
            )
        try:
            return read_json(self._require(self._data))
        except ValueError as error:
            raise ValueError(f"{self._data} is damaged. Received: {error}") from None

    def _require(self, file):
        if not file.exists():
            resume = ["--resume"] if self.exists else []
            raise FileNotFoundError(
                f"{self.path} is not a finished run: it has no {file.relative_to(self.path)}. "
                f"Train it with: {command_line('train', '--run', self.path, *resume)}"
            )
        return file


def _write_text(path, text):
    with atomic_replace(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def make_model(config: RunConfig, source_vocab_size: int, target_vocab_size: int) -> Translator:
    """Makes the model that a `RunConfig` describes, not built, so that its parts can be replaced.

    Args:
        config: a `RunConfig`. If it names a function that makes the model, a Transformer is made.
        source_vocab_size: size of the source vocabulary.
        target_vocab_size: size of the target vocabulary.

    Returns:
        A `TransformerModel` or `RecurrentTranslator`.

    Raises:
        ValueError: if the model would have more than a billion parameters.

    Example:
        >>> model = kt.make_model(kt.RunConfig(n=1), 100, 120)
        >>> model.encoder.layers[0].feed_forward = keras.layers.Dense(128, "gelu")
    """
    if config.has_own_model:
        config = dataclasses.replace(config, model="transformer")
    sizes = (source_vocab_size, target_vocab_size)
    return ModelDescription.from_config(config, sizes).make()


def build_run_model(config, tokenizers, dtype="float32", make_model=make_model):
    """Makes and builds the model of a run.

    Args:
        config: a `RunConfig`; None for a run without one.
        tokenizers: source and target tokenizer, which determine the sizes of the vocabularies.
        dtype: dtype policy.
        make_model: see `train_run`.
    """
    sizes = [tokenizer.vocab_size for tokenizer in tokenizers]
    return build_model(functools.partial(make_model, config, *sizes), dtype)


def _check_finite(model):
    for variable in model.variables:
        if not np.isfinite(ops.convert_to_numpy(variable)).all():
            raise ValueError(f"The weights must be finite. Received: NaN or inf in {variable.path}")


def check_history(history):
    """Raises a ValueError unless every row of a training history has finite numbers only.

    Args:
        history: list of dictionaries, one for each epoch.
    """
    columns = set(_history_columns(history))
    for row in history:
        numbers = [x for x in row.values() if type(x) in (int, float) and abs(x) < math.inf]
        if row.keys() != columns or len(numbers) != len(row):
            raise ValueError(f"Each epoch must have {sorted(columns)}. Received: {excerpt(row)}")


def check_curve(curve):
    """Raises a ValueError unless the points of a loss curve have three finite numbers.

    The first one, the number of updates, is positive.
    """
    for point in curve:
        finite = all(type(x) in (int, float) and abs(x) < math.inf for x in point)
        if len(point) != 3 or not finite or point[0] <= 0:
            raise ValueError(f"A point must have three numbers. Received: {excerpt(point)}")


def _history_columns(history):
    scored = bool(history) and "validation_bleu" in history[0]
    return SCORED_COLUMNS if scored else HISTORY_COLUMNS


def data_digests(dataset):
    """Returns digests of the parts of a data set that detect changed or reordered pairs."""
    return {"training": _digest(dataset.train), "validation": _digest(dataset.validation)}


def _digest(pairs):
    if isinstance(pairs, TokenShards):
        return pairs.digest
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update("\t".join(pair).encode() + b"\n")
    return digest.hexdigest()
