"""A job: the shards of a corpus, their output folder, and the report of untranslated lines."""

import dataclasses
import hashlib
import itertools
import json
import os
from pathlib import Path
from typing import Any

from keras_transformer import __version__
from keras_transformer._utils.files import PARTIAL, atomic_replace
from keras_transformer._utils.reading import check_regular, excerpt, read_json
from keras_transformer.bulk.shards import check_column, is_parquet, is_tab_separated
from keras_transformer.data.limits import Limits

# The folder in the output folder that holds everything but the translations.
_STATE = "_job"


@dataclasses.dataclass(frozen=True)
class Job:
    """The settings of a job; all workers receive them.

    Args:
        run: absolute path of the run folder.
        weights: name of the weights.
        model: name of the function that makes the model, or None.
        output: absolute path of the output folder.
        options: dictionary of search options.
        column: number or name of the column with the sentences; None for the default.
        with_scores: whether to write the scores.
        data_limits: factor of the limits of data files.
        digest: see `digest_run`.
        engine: see `Translate`.
        compute_type: see `Translate`.
        version: version of this package.

    Raises:
        ValueError: if `data_limits` is out of range.
    """

    run: Path
    weights: str
    model: str | None
    output: Path
    options: dict[str, Any]
    column: str | None
    with_scores: bool
    data_limits: float
    digest: str
    engine: str = "auto"
    compute_type: str | None = None
    version: str = __version__

    def __post_init__(self):
        self.limits  # noqa: B018 - checks `data_limits`

    @property
    def n_best(self):
        """The number of translations per sentence."""
        return self.options.get("n_best", 1)

    @property
    def limits(self):
        """The `Limits` of a shard."""
        return Limits.scaled(self.data_limits)

    @property
    def settings_file(self):
        """The path of the settings that determine the translations."""
        return self.output / _STATE / "settings.json"

    @property
    def report_file(self):
        """The path of the report on the lines that were not translated."""
        return self.output / _STATE / "untranslated.tsv"

    def output_file(self, shard):
        """Returns the path of the translations of a shard."""
        return self.output / shard.name

    @property
    def _reports(self):
        return self.output / _STATE / "shards"

    def shard_report(self, shard):
        """Returns the path of the report on a shard."""
        return self._reports / f"{shard.name}.tsv"

    def settings(self):
        """Returns the settings that determine the translations, as a dictionary for JSON."""
        return {
            "weights": self.digest,
            "model": self.model,
            "version": self.version,
            "options": json.loads(json.dumps(self.options)),  # tuples are lists in the file
            "engine": [self.engine, self.compute_type],
            "column": self.column,
            "scores": self.with_scores,
        }

    def begin(self):
        """Prepares the output folder.

        Raises:
            ValueError: if the folder was begun with other settings.
        """
        if self.settings_file.exists():
            found = read_json(self.settings_file)
            if different := [x for x, value in self.settings().items() if found.get(x) != value]:
                raise ValueError(
                    "The output folder was begun with other settings, which would mix two kinds "
                    "of translations: choose another folder, or delete it. Received: "
                    f"{self.output}, begun with {excerpt({x: found.get(x) for x in different})}"
                )
        else:
            with atomic_replace(self.settings_file) as temporary:
                temporary.write_text(json.dumps(self.settings(), indent=2) + "\n")
        self.remove_partial_files()

    def remove_partial_files(self):
        """Removes the files that killed workers have left."""
        for folder in (self.output, self._reports):
            for file in folder.glob(f"{PARTIAL}*"):
                file.unlink(missing_ok=True)

    def write_report(self):
        """Writes the report from those on the translated shards.

        Returns:
            The number of lines that were not translated.
        """
        number = 0
        with (
            atomic_replace(self.report_file) as temporary,
            open(temporary, "w", encoding="utf-8") as report,
        ):
            report.write("shard\tline\treason\n")
            for path in sorted(self._reports.glob("*.tsv")):
                shard = path.name.removesuffix(".tsv")
                if not (self.output / shard).exists():
                    continue  # a worker was killed between the two files
                with open(path, encoding="utf-8") as lines:
                    for line in lines:
                        number += 1
                        report.write(f"{shard}\t{line}")
        return number


def digest_run(folder, weights):
    """Computes a digest of everything in a run folder that determines its translations.

    Args:
        folder: path of the run folder.
        weights: name of the weights.

    Returns:
        The digest as text.

    Raises:
        FileNotFoundError: if the folder has no such weights.
    """
    file = Path(folder) / "weights" / f"{weights}.weights.h5"
    if not file.is_file():
        raise FileNotFoundError(
            f"The folder of a run with weights of this name must exist, on each machine. "
            f"Received: {file}, which does not exist"
        )
    total = hashlib.sha256()
    for path in [*sorted(Path(folder).glob("*.json")), file]:
        check_regular(path)
        with open(path, "rb") as opened:
            total.update(hashlib.file_digest(opened, "sha256").digest())
    return total.hexdigest()


def find_shards(inputs, output, column=None):
    """Returns the shards of a corpus, sorted by name.

    Args:
        inputs: paths of files, and of folders whose files are shards. Files that begin with a dot
            or an underscore are left out of folders.
        output: path of the output folder.
        column: see `read_pieces`.

    Returns:
        List of absolute `Path`s.

    Raises:
        FileNotFoundError: if an input does not exist.
        ValueError: if there is no shard, two have the same name, one is in the output folder, or
            the column does not fit the format.
    """
    shards = []
    for path in map(Path, inputs):
        if not path.exists():
            raise FileNotFoundError(f"No shard or folder of shards here. Received: {path}")
        shards += sorted(filter(_is_shard, path.iterdir())) if path.is_dir() else [path]
    shards = sorted((Path(os.path.abspath(path)) for path in shards), key=lambda path: path.name)
    if not shards:
        raise ValueError(f"Give at least one shard. Received: no files in {excerpt(inputs)}")
    for a, b in itertools.pairwise(shards):
        if a.name == b.name:
            raise ValueError(
                "Each shard needs a name of its own, which its translations get, too: rename one "
                f"of them. Received: {a} and {b}"
            )
    for path in shards:
        _check_shard(path, Path(output), column)
    return shards


def _is_shard(path):
    return path.is_file() and not path.name.startswith((".", "_"))


def _check_shard(path, output, column):
    if path.parent.resolve() == output.resolve():
        raise ValueError(f"The output folder must not be the folder of a shard. Received: {path}")
    if path.name == _STATE or path.name.startswith(PARTIAL):
        raise ValueError(f"This name is reserved: rename the shard. Received: {path}")
    if is_tab_separated(path):
        check_column(column)
    elif column is not None and not is_parquet(path):
        raise ValueError(f"Only .tsv and .parquet have columns. Received: {path}, {column=}")
