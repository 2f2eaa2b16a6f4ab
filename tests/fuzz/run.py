"""Fuzzing: gives hostile files, arguments and sentences to the library, within limits.

Each case runs in a worker process with a limit on memory. A case fails if it raises an exception
that is not documented, takes too long or too much memory, or ends the process.

Example:
    python tests/fuzz/run.py --cases 20000
    python tests/fuzz/run.py --only hostile_pickle --seed 17 --cases 1
"""

import argparse
import collections
import os
import queue
import resource
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 60  # for a case; a first one also compiles
MEGABYTES = 3000  # of memory for a case, beyond what the worker has at the start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of workers")
    parser.add_argument("--only", nargs="+", help="names of targets (default: all)")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work()
    else:
        sys.exit(0 if fuzz(**vars(arguments)) else 1)


def fuzz(cases, seed=0, jobs=1, only=None, **_):
    """Runs cases, prints a table, and returns whether none failed."""
    start, waiting, results = time.monotonic(), queue.Queue(), queue.Queue()
    for i in range(cases):
        waiting.put(seed + i)
    threads = [threading.Thread(target=_drive, args=(waiting, results, only)) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = collections.defaultdict(collections.Counter)
    while not results.empty():
        name, outcome = results.get()
        found[name][outcome] += 1
    _print_table(found)
    print(f"{time.monotonic() - start:.0f} s")
    return sum(found.values(), collections.Counter())["failed"] == 0


def _print_table(found):
    columns = ("tried", "refused", "served", "failed")
    print(f"{'':24}" + "".join(f"{x:>9}" for x in columns))
    total = sum(found.values(), collections.Counter())
    for name, outcomes in [*sorted(found.items()), ("all", total)]:
        counts = {**outcomes, "tried": outcomes.total()}
        print(f"{name:24}" + "".join(f"{counts.get(x, 0):9,}" for x in columns))


def _drive(waiting, results, only):
    """Gives cases to a worker process, and starts a new one if it dies or takes too long."""
    worker = None
    while True:
        try:
            seed = waiting.get_nowait()
        except queue.Empty:
            break
        if worker is None:
            worker = _start()
        name, outcome, report = _ask(worker, f"{seed} {' '.join(only or ())}\n")
        results.put((name, outcome))
        if outcome == "failed":
            print(f"FAILED {name}, seed {seed}: {report}", flush=True)
        if worker.poll() is not None:
            worker = None
    if worker is not None:
        worker.stdin.close()
        worker.wait()


def _start():
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)]),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    command = [sys.executable, __file__, "--worker"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    worker = subprocess.Popen(command, env=environment, text=True, **pipes)
    if worker.stdout.readline() != "ready\n":
        raise RuntimeError("The worker did not start: run with --worker to see why.")
    return worker


def _ask(worker, line):
    """Returns the name, the outcome and the report of a case."""
    timer = threading.Timer(SECONDS, worker.kill)
    timer.start()
    worker.stdin.write(line)
    worker.stdin.flush()
    name = worker.stdout.readline().strip()
    outcome, _, report = worker.stdout.readline().strip().partition(" ")
    timer.cancel()
    if outcome:
        return name, outcome, report.replace("\\n", "\n")
    worker.wait()
    return name, "failed", f"the process ended with {worker.returncode} (-9: {SECONDS} s)"


def work():
    """Runs the cases on standard input in this process, and writes two lines for each."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what is printed must not be read as an answer
    from targets import TARGETS, Workshop, attempt

    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(folder)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = used + MEGABYTES * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            seed, *names = line.split()
            names = names or list(TARGETS)
            name = names[int(seed) % len(names)]
            print(name, file=answers, flush=True)
            try:
                outcome = attempt(name, seed, workshop)
            except BaseException:  # a PanicException of Rust is no Exception
                outcome = "failed " + traceback.format_exc()[-1500:].replace("\n", "\\n")
            print(outcome, file=answers, flush=True)


if __name__ == "__main__":
    main()
