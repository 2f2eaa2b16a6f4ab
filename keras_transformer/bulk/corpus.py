"""Translation of a corpus on the cores, GPUs or machines of a Ray cluster."""

import contextlib
import os
import sys
import time
from pathlib import Path

from keras_transformer.bulk.job import Job, digest_run, find_shards
from keras_transformer.inference.options import SearchOptions
from keras_transformer.runs.lock import folder_lock

_PROGRESS_SECONDS = 10


def translate_corpus(
    run,
    inputs,
    output,
    weights="best",
    model=None,
    column=None,
    with_scores=False,
    actors=None,
    data_limits=1.0,
    engine="auto",
    compute_type=None,
    **options,
):
    """Translates the shards of a corpus that are not translated yet.

    Each shard becomes a file of the same name in the output folder, with the same number of lines
    in the same order, which appears when it is complete. Lines that cannot be translated are empty
    and listed in a report.

    Ray starts on this machine; with the environment variable `RAY_ADDRESS`, its cluster is used.

    Args:
        run: path of the run folder.
        inputs: list of paths of shards and folders of shards: text or `.tsv`, also with the suffix
            `.gz`, or `.parquet`. See `read_pieces`.
        output: path of the output folder.
        weights: name of the weights.
        model: name of the function that makes the model, see `load_function`; None for a model of
            the library.
        column: number (`.tsv`) or name (`.parquet`) of the column with the sentences. Defaults to
            the first, or the only one of text.
        with_scores: whether to write the scores, too; see `open_writer`.
        actors: number of workers. Defaults to one per GPU or, without GPUs, one per core.
        data_limits: factor of the limits of a shard.
        engine: see `Translate`.
        compute_type: see `Translate`.
        **options: see `SearchOptions`.

    Returns:
        The number of shards, the number of lines that were not translated, and the path of the
        report that lists them.

    Raises:
        FileNotFoundError: if an input or the run does not exist.
        ValueError: if an argument is wrong, a shard cannot be read, or the output folder was begun
            with other settings. All other shards are translated.
        OSError: if the output cannot be written, another process writes it, or Ray fails.
        ImportError: if Ray or the engine is not installed.
    """
    SearchOptions(**options)  # validates
    output = Path(os.path.abspath(output))
    shards = find_shards(inputs, output, column)
    run = Path(os.path.abspath(run))
    # Imported late, because the import of Ray takes half a second, but before anything is written.
    import keras_transformer.bulk.cluster as cluster

    job = Job(
        run=run,
        weights=weights,
        model=model,
        output=output,
        options=options,
        column=column,
        with_scores=with_scores,
        data_limits=data_limits,
        engine=engine,
        compute_type=compute_type,
        digest=digest_run(run, weights),
    )
    with folder_lock(output, "This output folder is being written"):
        job.begin()
        missing = [shard for shard in shards if not job.output_file(shard).exists()]
        try:
            errors = _translate(cluster, job, missing, actors) if missing else {}
        finally:
            job.remove_partial_files()
        untranslated = job.write_report()
    if errors:
        shard, error = next(iter(errors.items()))
        raise ValueError(
            f"{len(errors):,} of {len(shards):,} shards could not be translated; start the command "
            f"again for these. The first is {shard.name}: {error}"
        )
    return len(shards), untranslated, job.report_file


def _translate(cluster, job, shards, actors):
    """Translates shards and returns a dictionary from those that failed to the reason."""
    errors, progress = {}, _Progress(shards)
    with cluster.start_cluster(actors) as options:
        workers = cluster.start_workers(job, min(options.pop("actors"), len(shards)), options)
        for shard, result in cluster.translate_shards(workers, shards):
            if result.is_fatal:
                raise OSError(result.error)
            if result.error is not None:
                errors[shard] = result.error
            progress.update(shard, result.lines)
    return errors


class _Progress:
    """Prints the progress to standard error.

    Args:
        shards: the shards to translate.
    """

    def __init__(self, shards):
        self.sizes = {shard: _size(shard) for shard in shards}
        self.shards = self.lines = self.bytes = 0
        self.start = self.printed = time.monotonic()

    def update(self, shard, lines):
        """Counts a finished shard; prints at most every 10 seconds."""
        self.shards, self.lines = self.shards + 1, self.lines + lines
        self.bytes += self.sizes[shard]
        now = time.monotonic()
        is_last = self.shards == len(self.sizes)
        if not is_last and now < self.printed + _PROGRESS_SECONDS:
            return
        self.printed, seconds = now, now - self.start
        left = seconds * (sum(self.sizes.values()) / max(1, self.bytes) - 1)
        print(
            f"{self.shards:,} of {len(self.sizes):,} shards, "
            f"{self.lines / seconds:,.0f} sentences/s, {_duration(left)} left",
            file=sys.stderr,
            flush=True,
        )


def _size(shard):
    with contextlib.suppress(OSError):
        return shard.stat().st_size
    return 0


def _duration(seconds):
    """Returns a duration as hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,}:{minutes:02}:{seconds:02}"
