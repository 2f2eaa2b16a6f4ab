"""Translation of a corpus on the cores, GPUs or machines of a Ray cluster.

It uses Ray's actors, not Ray Data. A shard is one task: its path is all that Ray transports, its
file is written by the actor that translates it, and a task that fails is repeated. Ray Data moves
the rows themselves, in blocks that do not end where the shards do. Two actors whose tasks only
slept took 26 s of CPU time and 1.7 GB with Ray Data, 11 s and 0.9 GB without it.
"""

import contextlib
import os
import re
import socket
import sys
import time
from pathlib import Path

from keras_transformer._utils.cores import count_cores
from keras_transformer.bulk.job import Job, digest_run, find_shards
from keras_transformer.bulk.worker import ShardResult, ShardWorker
from keras_transformer.inference.options import SearchOptions
from keras_transformer.runs.lock import folder_lock
from keras_transformer.training.interrupt import interruptible

try:
    import ray
    from ray.exceptions import RayError
except ImportError as error:
    raise ImportError(
        f"A large corpus needs Ray: run pip install 'keras3-transformer[ray]'. Received: {error}"
    ) from error

# A shard whose worker dies this often, for example because it needs more memory than there is, is
# given up.
_MAX_RETRIES = 9
_OBJECT_STORE = 100 << 20  # bytes, nearly the minimum: only paths are passed
_STARTS = 3  # Ray gives up if its processes take 30 s to start, as on a busy machine
_PROGRESS_SECONDS = 10
_CONNECT_SECONDS = 10
# With an actor per core, more threads than cores would wait for each other.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)


def translate_corpus(
    run,
    inputs,
    output,
    weights="best",
    column=None,
    with_scores=False,
    actors=None,
    data_limits=1.0,
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
        column: number (`.tsv`) or name (`.parquet`) of the column with the sentences. Defaults to
            the first, or the only one of text.
        with_scores: whether to write the scores, too; see `open_writer`.
        actors: number of workers. Defaults to one per GPU or, without GPUs, one per core.
        data_limits: factor of the limits of a shard.
        **options: see `SearchOptions`.

    Returns:
        The number of shards, the number of lines that were not translated, and the path of the
        report that lists them.

    Raises:
        FileNotFoundError: if an input or the run does not exist.
        ValueError: if an argument is wrong, a shard cannot be read, or the output folder was begun
            with other settings. All other shards are translated.
        OSError: if the output cannot be written, another process writes it, or Ray fails.
    """
    SearchOptions(**options)  # validates
    output = Path(os.path.abspath(output))
    shards = find_shards(inputs, output, column)
    run = Path(os.path.abspath(run))
    job = Job(
        run=run,
        weights=weights,
        output=output,
        options=options,
        column=column,
        with_scores=with_scores,
        data_limits=data_limits,
        digest=digest_run(run, weights),
    )
    with folder_lock(output, "This output folder is being written"):
        job.begin()
        missing = [shard for shard in shards if not job.output_file(shard).exists()]
        try:
            errors = _translate(job, missing, actors) if missing else {}
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


def _translate(job, shards, actors):
    """Translates shards and returns a dictionary from those that failed to the reason."""
    errors, progress = {}, _Progress(shards)
    with _cluster(actors) as options:
        workers = _start_workers(job, min(options.pop("actors"), len(shards)), options)
        for shard, result in _results(workers, shards):
            if result.is_fatal:
                raise OSError(result.error)
            if result.error is not None:
                errors[shard] = result.error
            progress.update(shard, result.lines)
    return errors


@contextlib.contextmanager
def _cluster(actors):
    """Starts or joins a Ray cluster; yields the number of actors and the resources of each."""
    address = os.environ.get("RAY_ADDRESS")
    try:
        try:
            _start_ray(address, actors)
            gpus, cpus = (int(ray.cluster_resources().get(x, 0)) for x in ("GPU", "CPU"))
        except Exception as error:  # Ray raises many types, `Exception` itself among them
            what = f"The Ray cluster at RAY_ADDRESS={address} cannot be joined"
            what = what if address else "Ray cannot be started on this machine"
            raise OSError(f"{what}. Received: {_summary(error)}") from error
        # Ray replaces the handler of SIGTERM.
        with interruptible():
            yield {"actors": actors or gpus or cpus, "num_cpus": 1, "num_gpus": 1 if gpus else 0}
    finally:
        ray.shutdown()


def _start_ray(address, actors):
    """Joins the cluster at an address, or starts Ray on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address:
        _check_address(address)
        ray.init(address, **quiet)
        return
    for attempts_left in reversed(range(_STARTS)):
        try:
            ray.init(
                "local",
                num_cpus=max(count_cores(), actors or 0),
                object_store_memory=_OBJECT_STORE,
                include_dashboard=False,
                **quiet,
            )
            return
        except Exception:
            ray.shutdown()
            if not attempts_left:
                raise


def _check_address(address):
    """Raises an OSError if nothing answers at an address, for which Ray looks for 15 minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        with socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS):
            pass


def _start_workers(job, number, resources):
    environment = {x: os.environ[x] for x in ("KERAS_BACKEND",) if x in os.environ}
    if not resources["num_gpus"]:
        environment.update(dict.fromkeys(_THREADS, "1"))
    worker = ray.remote(max_restarts=-1, max_task_retries=_MAX_RETRIES, **resources)(ShardWorker)
    return [worker.remote(job, environment) for _ in range(number)]


def _results(workers, shards):
    """Yields (shard, result) in the order in which the shards are finished."""
    waiting, running = iter(shards), {}

    def start(worker):
        if (shard := next(waiting, None)) is not None:
            running[worker.translate.remote(shard)] = (worker, shard)

    for worker in workers:
        start(worker)
    while running:
        (task, *_), _ = ray.wait(list(running), num_returns=1)
        worker, shard = running.pop(task)
        try:
            result = ray.get(task)
        except RayError as error:  # the worker died again and again, or cannot be started
            result = ShardResult(error=_summary(error))
        yield shard, result
        start(worker)


def _summary(error):
    """Returns the first and the last line of the message of an error of Ray."""
    text = re.sub(r"\x1b\[\d*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    return " … ".join(dict.fromkeys((lines[0], lines[-1])))


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
