"""A run is a folder: what training leaves behind and everything later needs."""

import csv
import hashlib
import json
from pathlib import Path

from keras_transformer._utils.files import atomic_replace, reserve
from keras_transformer.data.streaming import PairFile, StreamedBuckets
from keras_transformer.data.tokenizers import Tokenizer
from keras_transformer.models.recurrent import RecurrentTranslator
from keras_transformer.models.transformer import TransformerModel
from keras_transformer.runs.config import RunConfig

HISTORY_COLUMNS = (
    "epoch", "loss", "accuracy", "validation_loss", "validation_accuracy", "learning_rate",
    "tokens_per_second", "seconds",
)  # fmt: skip
SCORED_COLUMNS = (*HISTORY_COLUMNS, "validation_bleu")


class RunFolder:
    """Names, writes and reads the files of a run: JSON, text and HDF5, nothing that runs code.

    Reading raises a FileNotFoundError that names the file that is missing, or a ValueError that
    names the one that is damaged or of another run. Writing raises an OSError if it fails, and
    leaves what was there.

    Args:
        path: the folder, `runs/<name>`.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.weights = self.path / "weights" / "best.weights.h5"
        self.history = self.path / "history.csv"
        self.curves = self.path / "curves.png"
        self._config = self.path / "config.json"
        self._source_tokenizer = self.path / "source_tokenizer.json"
        self._target_tokenizer = self.path / "target_tokenizer.json"
        self._test = self.path / "test.tsv"
        self._data = self.path / "data.json"
        self._batches = self.path / "batches.json"

    @property
    def exists(self):
        """Whether a run was begun here."""
        return self._config.exists()

    def begin(self, config, dataset, batches):
        """Writes what is known before training, or the new settings with which a run goes on.

        Args:
            config: a `RunConfig`.
            dataset: a `PreparedDataset`; one that `check_dataset` accepts, if the run goes on.
            batches: those to train on.
        """
        if self.exists:
            self.write_config(config)
        else:
            self.create(config, dataset)
        if isinstance(batches, StreamedBuckets):
            self.write_block_stats(batches.block_stats)

    def create(self, config, dataset):
        """Writes what is known before training: settings, vocabularies and test sentences."""
        dataset.source_tokenizer.save(self._source_tokenizer)
        dataset.target_tokenizer.save(self._target_tokenizer)
        with atomic_replace(self._test) as temporary:
            temporary.write_text(_test_lines(dataset.test), encoding="utf-8")
        with atomic_replace(self._data) as temporary:
            temporary.write_text(json.dumps(_digests(dataset), indent=2) + "\n", encoding="utf-8")
        self._batches.unlink(missing_ok=True)
        self.write_config(config)  # last: its presence says that a run was begun

    def check_dataset(self, dataset):
        """Raises a ValueError if the run was begun on something else than this."""
        tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
        same_words = all(
            a.to_json() == b.to_json()
            for a, b in zip(self.read_tokenizers(), tokenizers, strict=True)
        )
        test = self._existing(self._test).read_text(encoding="utf-8")
        pairs = self._read_digests()
        same = {
            "vocabulary": same_words,
            "test part": test == _test_lines(dataset.test),
            **{f"{part} part": pairs.get(part) == x for part, x in _digests(dataset).items()},
        }
        if not all(same.values()):
            raise ValueError(
                f"{self.path} was begun on other data: begin another run. Received: another "
                f"{', '.join(what for what, is_same in same.items() if not is_same)}"
            )

    def write_block_stats(self, stats):
        """Writes what was counted of the batches of a file, see `StreamedBuckets`."""
        with atomic_replace(self._batches) as temporary:
            temporary.write_text(json.dumps(stats) + "\n", encoding="utf-8")

    def read_block_stats(self):
        """Reads what was counted; None if nothing was, or the file cannot be used."""
        try:
            stats = json.loads(self._batches.read_text(encoding="utf-8"))
            return [[int(n), list(map(int, some)), float(share)] for n, some, share in stats]
        except (OSError, TypeError, ValueError):
            return None

    def write_config(self, config):
        """Writes the settings."""
        with atomic_replace(self._config) as temporary:
            temporary.write_text(config.to_json(), encoding="utf-8")

    def read_config(self):
        """Reads the settings, a `RunConfig`."""
        try:
            return RunConfig.from_json(self._existing(self._config).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{self._config} cannot be used: {error}") from None

    def read_tokenizers(self):
        """Reads the source tokenizer and the target tokenizer."""
        files = (self._source_tokenizer, self._target_tokenizer)
        return tuple(Tokenizer.load(self._existing(file)) for file in files)

    def read_test(self):
        """Reads the test sentences, a list of (source, references)."""
        lines = self._existing(self._test).read_text(encoding="utf-8").splitlines()
        test = [(source, references) for source, *references in (x.split("\t") for x in lines)]
        if not test or not all(references for _, references in test):
            raise ValueError(
                f"{self._test} must have lines of a source and its translations, with tabs "
                f"between. Received: {len(test)} lines"
            )
        return test

    def read_history(self):
        """Reads the history: a dictionary of numbers per epoch."""
        with open(self._existing(self.history), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        try:
            columns = _columns(rows)
            history = [{name: float(row[name]) for name in columns} for row in rows]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self.history} must have numbers in the columns {HISTORY_COLUMNS}. "
                f"Received: {type(error).__name__} {error}"
            ) from None
        if not history:
            raise ValueError(f"{self.history} has no epochs yet. Received: an empty history")
        return history

    def write_history(self, history):
        """Writes the history, a list with a dictionary of numbers per epoch."""
        with atomic_replace(self.history) as temporary, open(temporary, "w", newline="") as file:
            writer = csv.DictWriter(file, _columns(history))
            writer.writeheader()
            writer.writerows(history)

    def write_weights(self, model, name="best"):
        """Writes the model's weights under a name."""
        with atomic_replace(self.weights_file(name)) as temporary:
            reserve(temporary, model.variables)
            model.save_weights(temporary)

    def write_epoch_weights(self, model, epoch, keep):
        """Writes the weights of an epoch, and then removes those of all but the last `keep`."""
        self.write_weights(model, f"epoch-{epoch:04d}")
        for file in self.epoch_weights()[:-keep]:
            file.unlink()

    def epoch_weights(self):
        """The files of weights of single epochs, in their order."""
        return sorted(self.weights.parent.glob("epoch-*.weights.h5"))

    def weights_file(self, name):
        """The file of the weights of this name."""
        return self.weights.with_name(f"{name}.weights.h5")

    def read_model(self, dtype="float32", weights="best"):
        """Builds the model with its best weights, or others.

        Args:
            dtype: dtype policy to compute in; the weights are float32 in any case.
            weights: name of the weights: "best", "average" or "epoch-0012".

        Returns:
            A built `TransformerModel` or `RecurrentTranslator`.
        """
        model = make_model(self.read_config(), *self.read_tokenizers(), dtype)
        file = self._existing(self.weights_file(weights))
        try:
            model.load_weights(file)
        except (ValueError, OSError, KeyError, RuntimeError) as error:
            raise ValueError(
                f"{file} does not fit {self._config}: the files are of different runs, or "
                f"damaged. Received: {error}"
            ) from None
        return model

    def _read_digests(self):
        try:
            return dict(json.loads(self._existing(self._data).read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self._data} is damaged. Received: {error}") from None

    def _existing(self, file):
        if not file.exists():
            raise FileNotFoundError(
                f"{self.path} is not a finished run: it has no {file.relative_to(self.path)}. "
                f"Make one with scripts/train.py{' --resume' if self.exists else ''}."
            )
        return file


def make_model(config, source_tokenizer, target_tokenizer, dtype="float32"):
    """Builds the model that a `RunConfig` describes.

    Args:
        config: a `RunConfig`.
        source_tokenizer: gives the number of source words.
        target_tokenizer: gives the number of target words.
        dtype: dtype policy.

    Returns:
        A built `TransformerModel` or `RecurrentTranslator`.
    """
    sizes = (source_tokenizer.vocab_size, target_tokenizer.vocab_size)
    make = _make_transformer if config.model == "transformer" else _make_recurrent
    model = make(config, sizes, dtype)
    model.build(((None, None), (None, None)))
    return model


def _make_recurrent(config, vocab_sizes, dtype):
    # The recurrent state is as large as the words' vectors.
    sizes = (*vocab_sizes, config.d_model, config.d_model)
    return RecurrentTranslator(*sizes, config.rate, attention=config.model, dtype=dtype)


def _make_transformer(config, vocab_sizes, dtype):
    return TransformerModel(
        *vocab_sizes,
        settings=config.block_settings(),
        tie_output=config.tie_output,
        share_embeddings=config.share_vocabulary,
        dtype=dtype,
    )


def _columns(history):
    scored = bool(history) and "validation_bleu" in history[0]
    return SCORED_COLUMNS if scored else HISTORY_COLUMNS


def _digests(dataset):
    """What tells other pairs, or another order of them, from these."""
    return {"training": _digest(dataset.train), "validation": _digest(dataset.validation)}


def _digest(pairs):
    if isinstance(pairs, PairFile):
        return pairs.digest  # what is left out of it, the settings and the other parts say
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update("\t".join(pair).encode() + b"\n")
    return digest.hexdigest()


def _test_lines(test):
    rows = [[source, *references] for source, references in test]
    return "".join("\t".join(" ".join(x.split()) for x in row) + "\n" for row in rows)
