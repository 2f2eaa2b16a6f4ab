"""Timing systems against each other: in one process, alternating, on cores of their own."""

import os
import statistics
import time
from importlib.metadata import version


def use_one_core():
    """Pins this process to the first core it may use; see `use_cores`."""
    use_cores(1)


def use_cores(count, first=None):
    """Pins this process to some cores, where the system can; call it before the libraries start.

    Other work on the machine then changes the wall time, but hardly the processor time. The
    libraries start as many threads: two threads on one core wait for each other.

    Args:
        count: number of cores.
        first: number of the first one, of those that the process may use.

    Raises:
        ValueError: if there are not so many.
    """
    for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"):
        os.environ[name] = str(count)
    if not hasattr(os, "sched_setaffinity"):
        return
    allowed = sorted(os.sched_getaffinity(0))
    cores = [core for core in allowed if first is None or core >= first][:count]
    if len(cores) < count or first not in (None, cores[0]):
        raise ValueError(f"This process may use the cores {allowed}. Received: {count=}, {first=}")
    os.sched_setaffinity(0, cores)


def compare(systems, rounds=30):
    """Calls the systems in turn and prints a table with a row for each.

    Args:
        systems: dictionary from a name to a function without arguments that does the same work.
        rounds: how often each is called, after two calls to warm up.
    """
    times = {name: [] for name in systems}
    for round_number in range(rounds + 2):
        for name, run in systems.items():
            spent = time_calls(run)
            if round_number >= 2:
                times[name].append(spent)
    medians = {
        name: list(map(statistics.median, zip(*t, strict=True))) for name, t in times.items()
    }
    _, our_time = next(iter(medians.values()))
    print(f"\n{processor_name()}, one core, {rounds} rounds, medians")
    print("| system | wall ms | processor ms | times our processor time |")
    print("|---|---|---|---|")
    for name, (wall, cpu) in medians.items():
        print(f"| {name} | {1e3 * wall:.1f} | {1e3 * cpu:.1f} | {cpu / our_time:.2f} |")


class Spread:
    """The median of some measurements, and how far from it their middle half reaches.

    Args:
        values: at least one number.
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
    """Times systems that are so fast that one call alone says little.

    In each round every system has a turn: a call that is not timed, so that the caches of the
    processor hold its data and not those of the system before; then as many calls in a row as fill
    the turn.

    Args:
        systems: dictionary from a name to a function without arguments.
        rounds: number of turns of each system.
        turn_seconds: how long the timed calls of a turn take, roughly; one call at least.
        rest: seconds of sleep before each turn. Several threads of the system before may still
            spin, waiting for work, for 0.2 s, which would be counted as work of this one.

    Returns:
        Dictionary from the name to a pair of `Spread`: of the wall and of the processor time of a
        call in seconds.
    """
    for run in systems.values():
        run()  # some compile when called for the first time
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
    """The wall time and the processor time of all threads, in seconds a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        run()
    return (time.perf_counter() - wall) / calls, (time.process_time() - cpu) / calls


def processor_name():
    """The processor's name."""
    # Imported late: the package starts Keras, which must not happen before `use_cores`.
    from keras_transformer.backends.device import processor

    return processor().name


def named(system, *packages):
    """The name of a system with the versions of its packages."""
    return " ".join([system, *(f"{package} {version(package)}" for package in packages)])
