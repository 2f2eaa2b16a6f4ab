"""Timing systems against each other: in one process, alternating, on one core."""

import os
import statistics
import time
from importlib.metadata import version

from keras_transformer.training.device import processor


def use_one_core():
    """Pins this process to one core, where the system can; call it before the libraries start.

    Other work on the machine then changes the wall time, but hardly the processor time.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["TF_NUM_INTRAOP_THREADS"] = "1"  # two threads on one core wait for each other
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def compare(systems, rounds=30):
    """Calls the systems in turn and prints a table with a row for each.

    Args:
        systems: dictionary from a name to a function without arguments that does the same work.
        rounds: how often each is called, after two calls to warm up.
    """
    times = {name: [] for name in systems}
    for round_number in range(rounds + 2):
        for name, run in systems.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            spent = (time.perf_counter() - wall, time.process_time() - cpu)
            if round_number >= 2:
                times[name].append(spent)
    medians = {
        name: list(map(statistics.median, zip(*t, strict=True))) for name, t in times.items()
    }
    _, our_time = next(iter(medians.values()))
    print(f"\n{processor().name}, one core, {rounds} rounds, medians")
    print("| system | wall ms | processor ms | times our processor time |")
    print("|---|---|---|---|")
    for name, (wall, cpu) in medians.items():
        print(f"| {name} | {1e3 * wall:.1f} | {1e3 * cpu:.1f} | {cpu / our_time:.2f} |")


def named(system, *packages):
    """The name of a system with the versions of its packages."""
    return " ".join([system, *(f"{package} {version(package)}" for package in packages)])
