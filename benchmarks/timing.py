"""Timing helpers: compare alternating systems in one process that is pinned to CPU cores."""

import datetime
import os
import statistics
import time
from importlib.metadata import version


def use_one_core():
    """Pins this process to the first CPU core available to it; see `use_cores`."""
    use_cores(1)


def use_cores(count, first=None):
    """Pins this process to CPU cores and limits the libraries to as many threads.

    Call this before importing the libraries. On a pinned process, other load on the machine affects
    the wall time, but hardly the CPU time. More threads than cores would wait for each other. Where
    the operating system cannot pin processes, only the threads are limited.

    Args:
        count: number of cores.
        first: number of the first core; None for the first one available.

    Raises:
        ValueError: if fewer cores are available to the process.
    """
    for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"):
        os.environ[name] = str(count)
    if not hasattr(os, "sched_setaffinity"):
        return
    allowed = sorted(os.sched_getaffinity(0))
    cores = [core for core in allowed if first is None or core >= first][:count]
    if len(cores) < count or first not in (None, cores[0]):
        raise ValueError(f"The available CPU cores are {allowed}. Received: {count=}, {first=}")
    os.sched_setaffinity(0, cores)


def compare(systems, rounds=30):
    """Times the systems alternately and prints a table with a row for each.

    Args:
        systems: dictionary from names to functions without arguments. The first one is the
            reference.
        rounds: number of timed calls of each system, after two warm-up calls.
    """
    times = {name: [] for name in systems}
    for round_number in range(rounds + 2):
        for name, run in systems.items():
            seconds = time_calls(run)
            if round_number >= 2:
                times[name].append(seconds)
    medians = {
        name: list(map(statistics.median, zip(*t, strict=True))) for name, t in times.items()
    }
    _, reference = next(iter(medians.values()))
    print(f"\n{made_with()}, one core, medians of {rounds} rounds")
    print("| system | wall ms | CPU ms | relative CPU time |")
    print("|---|---|---|---|")
    for name, (wall, cpu) in medians.items():
        print(f"| {name} | {1e3 * wall:.1f} | {1e3 * cpu:.1f} | {cpu / reference:.2f} |")


class Spread:
    """The median of measurements, and half the interquartile range relative to it.

    Args:
        values: list of at least one number.
    """

    def __init__(self, values):
        self.median = statistics.median(values)
        quartiles = (
            statistics.quantiles(values, method="inclusive")
            if len(values) > 1
            else [self.median] * 3
        )
        self.relative = (quartiles[2] - quartiles[0]) / 2 / self.median


def time_turns(systems, rounds, turn_seconds=0.07, rest=0.0):
    """Times systems alternately, with several calls per turn.

    A turn begins with one untimed call, which fills the CPU caches with the data of this system.
    The timed calls follow without a pause.

    Args:
        systems: dictionary from names to functions without arguments.
        rounds: number of turns of each system.
        turn_seconds: approximate duration of the timed calls of a turn, at least one call.
        rest: seconds to sleep before each turn. The threads of the previous system may spin for
            0.2 s while they wait for work, which would count as CPU time of this one.

    Returns:
        Dictionary from names to pairs of `Spread`: wall time and CPU time per call, in seconds.
    """
    for run in systems.values():
        run()  # the first call may compile
    calls = {
        name: max(1, round(turn_seconds / time_calls(run)[0])) for name, run in systems.items()
    }
    times = {name: [] for name in systems}
    for _ in range(rounds):
        for name, run in systems.items():
            time.sleep(rest)
            run()
            times[name].append(time_calls(run, calls[name]))
    return {name: tuple(map(Spread, zip(*t, strict=True))) for name, t in times.items()}


def time_calls(run, calls=1):
    """Returns the wall time and the CPU time of all threads, in seconds per call."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        run()
    return (time.perf_counter() - wall) / calls, (time.process_time() - cpu) / calls


def cpu_name():
    """Returns the name of the CPU."""
    # Imported here, because importing it starts Keras, which must happen after `use_cores`.
    from keras_transformer.backends.device import describe_cpu

    return describe_cpu().name


def made_with(*packages):
    """Returns the note under a table: machine, versions and date.

    The speed of float32 matrix products makes times on different machines comparable.
    """
    names = ("numpy", "keras", *packages)
    versions = [f"{name} {version(name)}" for name in names]
    return ", ".join([f"{cpu_name()} ({product_rate():.0f} GFLOP/s)", *this_version(), *versions])


def this_version():
    """Returns the version of this package, with its name, and the date."""
    from keras_transformer import __version__

    return f"keras_transformer {__version__}", datetime.date.today().isoformat()


def product_rate(size=1024, rounds=10):
    """Returns the rate of float32 matrix products of this process, in GFLOP per CPU second."""
    import numpy as np

    x = np.random.default_rng(0).random((size, size), dtype=np.float32)
    times = [time_calls(lambda: x @ x)[1] for _ in range(rounds)]
    return 2e-9 * size**3 / statistics.median(times)


def named(system, *packages):
    """Returns the name of a system, followed by the versions of the given packages."""
    return " ".join([system, *(f"{package} {version(package)}" for package in packages)])
