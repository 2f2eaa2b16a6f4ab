"""Workers on the cores, GPUs or machines of a Ray cluster.

It uses Ray's actors, not Ray Data. A shard is one task: its path is all that Ray transports, its
file is written by the actor that translates it, and a task that fails is repeated. Ray Data moves
the rows themselves, in blocks that do not end where the shards do. Two actors whose tasks only
slept took 26 s of CPU time and 1.7 GB with Ray Data, 11 s and 0.9 GB without it.
"""

import contextlib
import os
import re
import socket

from keras_transformer._utils.cores import count_cores
from keras_transformer._utils.extras import extra
from keras_transformer.bulk.worker import ShardResult, ShardWorker
from keras_transformer.training.interrupt import interruptible

with extra("A large corpus needs Ray", "ray"):
    import ray
    from ray.exceptions import RayError

# A shard whose worker dies this often, for example because it needs more memory than there is, is
# given up.
_MAX_RETRIES = 9
_OBJECT_STORE = 100 << 20  # bytes, nearly the minimum: only paths are passed
_STARTS = 3  # Ray gives up if its processes take 30 s to start, as on a busy machine
_CONNECT_SECONDS = 10
# With an actor per core, more threads than cores would wait for each other.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)


@contextlib.contextmanager
def start_cluster(actors):
    """Starts or joins a Ray cluster; yields the number of actors and the resources of each."""
    address = os.environ.get("RAY_ADDRESS")
    try:
        try:
            _start_ray(address, actors)
            gpus, cpus = (int(ray.cluster_resources().get(x, 0)) for x in ("GPU", "CPU"))
        except Exception as error:  # Ray raises many types, `Exception` itself among them
            what = "Ray cannot be started on this machine"
            if address:
                what = f"The Ray cluster at RAY_ADDRESS={address} cannot be joined"
                if "RAY_AUTH_MODE" not in os.environ:
                    what += " (if it asks for a token, set RAY_AUTH_MODE=token)"
            raise OSError(f"{what}. Received: {_summary(error)}") from error
        check_actors(actors, "GPU" if gpus else "CPU", gpus or cpus)
        # Ray replaces the handler of SIGTERM.
        with interruptible():
            yield {"actors": actors or gpus or cpus, "num_cpus": 1, "num_gpus": 1 if gpus else 0}
    finally:
        ray.shutdown()


def check_actors(actors, name, number):
    """Raises an OSError if the cluster has fewer CPUs or GPUs than actors, which would wait."""
    if not number:
        raise OSError("The Ray cluster has no CPU or GPU yet: start one of its workers first")
    if (actors or 0) > number:
        raise OSError(
            f"The Ray cluster has a {name} for {number} actors only: lower the number. "
            f"Received: {actors}"
        )


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


def start_workers(job, number, resources):
    """Starts workers, each with the resources that `start_cluster` has yielded."""
    environment = {x: os.environ[x] for x in ("KERAS_BACKEND",) if x in os.environ}
    if not resources["num_gpus"]:
        environment.update(dict.fromkeys(_THREADS, "1"))
    worker = ray.remote(max_restarts=-1, max_task_retries=_MAX_RETRIES, **resources)(ShardWorker)
    return [worker.remote(job, environment) for _ in range(number)]


def translate_shards(workers, shards):
    """Translates shards; yields (shard, result) in the order in which they are finished."""
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
