"""Runs the lanes of CI and compares the CPU time of each with its budget.

A lane that takes twice its budget fails, so that the suite does not grow unnoticed. After a
failure, no further lane is started. This script uses the standard library only, because it runs
before anything is installed.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

SLICES = 29
RECENT = 15  # commits
GRACE_PERIOD = 10  # seconds between SIGTERM and SIGKILL
TOLERANCE = 2  # lanes above this multiple of their budget fail; machines differ by less
# Matches a line of `pytest --durations` or of notebooks/build.py.
DURATION = re.compile(r"^ *(\d+\.\d+)s (?:call|setup|teardown) +(.*)|^(.*): \d+ cells, (\d+) s$")


def git(*arguments):
    return subprocess.check_output(("git", *arguments), text=True).strip()


def number_of_commit():
    """Returns a number that tells commits apart, for choosing slices with the modulus.

    It is the number of commits. A push may add several of them; because the number of slices is
    prime, as many pushes with equally many commits each still visit every slice (modulo 20, pushes
    of 5 commits would visit only 4). A hash of the commit would miss a third of the slices in 20
    pushes, on average. It is used in shallow clones only, which do not know the count.
    """
    if git("rev-parse", "--is-shallow-repository") == "true":
        return int(git("rev-parse", "HEAD"), 16)
    return int(git("rev-list", "--count", "HEAD"))


def recently_changed(pattern):
    """Returns the files of a pattern that the last commits changed."""
    root = Path(__file__).resolve().parents[1]
    changed = set(git("log", f"-{RECENT}", "--format=", "--name-only").splitlines())
    return sorted(changed & {str(path.relative_to(root)) for path in root.glob(pattern)})


def notebooks_of_commit(number):
    """Returns every third notebook and those whose sources the last commits changed.

    All of them take ten minutes; `make release-check` builds them.
    """
    folder = Path(__file__).resolve().parents[1] / "notebooks"
    names = sorted(path.stem for path in folder.glob("[0-9][0-9]_*.py"))
    recent = [Path(path).stem for path in recently_changed("notebooks/[0-9][0-9]_*.py")]
    return " ".join(sorted({*names[number % 3 :: 3], *recent}))


def has_chromium():
    return shutil.which("chromedriver") and (
        shutil.which("chromium") or shutil.which("chromium-browser")
    )


@dataclass
class Lane:
    name: str
    command: str
    budget: float | None = None  # CPU time, in minutes
    status: int | None = None  # exit status; None: not run
    remark: str = "not run"
    cpu: float = 0.0  # in minutes
    wall: float = 0.0  # in minutes
    durations: list = field(default_factory=list)

    def run(self):
        """Runs the command, prints its output prefixed with the lane's name, and measures it."""
        print(f"{self.name} | {self.command}", flush=True)
        started = time.perf_counter()
        options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --durations=5"
        # A new session allows stopping all processes of the lane together.
        process = subprocess.Popen(
            ["bash", "-c", self.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1", "PYTEST_ADDOPTS": options},
        )
        running[self.name] = process.pid
        reader = threading.Thread(target=self.read, args=(process.stdout,), daemon=True)
        reader.start()
        # The usage covers all descendants that their parents wait for, as make and pytest do.
        # Chromium does not: 10 of the 34 s of the browser lane are missing.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # keeps Popen from waiting again
        del running[self.name]
        reader.join(10)  # with a timeout, because an orphaned process may keep the pipe open
        self.wall = (time.perf_counter() - started) / 60
        self.cpu = (usage.ru_utime + usage.ru_stime) / 60
        self.status = process.returncode

    def read(self, lines):
        """Prints the output and collects the durations in it."""
        for line in lines:
            print(f"{self.name} | {line}", end="", flush=True)
            if match := DURATION.match(line):
                seconds, test, notebook, notebook_seconds = match.groups()
                self.durations.append((float(seconds or notebook_seconds), test or notebook))

    def exceeds_budget(self, tolerance=1.0):
        return self.budget is not None and self.cpu > tolerance * self.budget


running = {}  # process ids of running lanes
stop = threading.Event()  # if set, no further lane is started

# Stages run one after another. The lanes of a stage run two at a time, in this order, longest
# first, so that both cores are busy to the end; with three, Ray starts too late. The parts of
# `make test`, `test-slow` and `test-all` are lanes of their own.
STAGES = [
    [Lane("install", ".ci/install")],
    [Lane("check", "make check", 1)],
    [
        Lane("slow-others", "make test-slow-others {half}", 10),
        Lane("slow-models", "make test-slow-models {half}", 8),
        Lane("slow-jax", "make test-slow-jax {half}", 6),
        Lane("notebooks", "make notebooks ARGS='{notebooks}'", 10),
        Lane("train", ".ci/train", 8),
        Lane("all-jax", "make test-all-jax SLICE={slice}", 6),
        Lane("test-models", "make test-models", 3),
        Lane("all-tensorflow", "make test-all-tensorflow SLICE={slice}", 6),
        Lane("test-others", "make test-others", 3),
        Lane("parity", "make parity", 5),
        Lane("test-jax", "make test-jax", 2),
        Lane("test-torch", "make test-torch", 4),
        Lane("browser", "make test-browser", 3),
        Lane("docs", "make docs", 2),
    ],
]


def select(names):
    """Returns the stages with the named lanes and "install", or all stages without names."""
    stages = [[x for x in stage if not names or x.name in ("install", *names)] for stage in STAGES]
    return [stage for stage in stages if stage]


def run_lanes(stages):
    """Runs the stages one after another. After a failure, no further lane is started."""

    def run(lane):
        if stop.is_set():
            return
        if lane.name == "browser" and not has_chromium():
            lane.remark = "skipped: no Chromium"
            return
        lane.run()
        if lane.status:
            stop.set()

    for stage in stages:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(run, stage))  # `list` re-raises exceptions of the lanes


def print_table(lanes, seconds):
    print(f"\n{'lane':15} | {'budget':>7} | {'CPU min':>7} | {'wall min':>8} | remarks")
    for lane in lanes:
        budget = "" if lane.budget is None else f"{lane.budget:.0f}"
        if lane.status is None:
            print(f"{lane.name:15} | {budget:>7} | {'':7} | {'':8} | {lane.remark}")
            continue
        remarks = ["over budget"] if lane.exceeds_budget() else []
        remarks += [f"failed, exit status {lane.status}"] if lane.status else []
        times = f"{lane.cpu:7.2f} | {lane.wall:8.2f}"
        print(f"{lane.name:15} | {budget:>7} | {times} | {', '.join(remarks)}")
    total = sum(lane.cpu for lane in lanes)
    print(f"{'all':15} | {'':7} | {total:7.2f} | {seconds / 60:8.2f} |", flush=True)


def print_excesses(lanes):
    for lane in lanes:
        if lane.exceeds_budget(TOLERANCE):
            print(
                f"\nError: {lane.name} took {lane.cpu:.1f} minutes of CPU time; its budget is "
                f"{lane.budget:.0f}. The slowest tests:"
            )
            for seconds, test in sorted(lane.durations, reverse=True)[:5]:
                print(f"  {seconds:6.1f} s  {test}")


def stop_running(*_):
    """Signal handler: terminates the running lanes, kills them after GRACE_PERIOD, and exits."""
    stop.set()
    signal_running(signal.SIGTERM)
    deadline = time.monotonic() + GRACE_PERIOD
    while running and time.monotonic() < deadline:
        time.sleep(0.1)
    signal_running(signal.SIGKILL)
    raise SystemExit(143)


def signal_running(number):
    for pid in list(running.values()):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)


def main():
    parser = argparse.ArgumentParser(prog=".ci/run", description="Runs the lanes of CI.")
    lanes = [lane for stage in STAGES for lane in stage]
    names = [lane.name for lane in lanes]
    help = f"lanes to run, any of {', '.join(names)} (default: all)"
    parser.add_argument("lanes", nargs="*", metavar="LANE", help=help)
    selected = parser.parse_args().lanes
    if unknown := sorted(set(selected) - set(names)):
        parser.error(f"unknown lanes: {', '.join(unknown)}")
    number = number_of_commit()
    # A half of the slow tests, drawn by the hash of the commit, and all in files that changed.
    half = int(git("rev-parse", "HEAD"), 16) % 2 + 1
    also = " ".join(recently_changed("tests/**/test_*.py"))
    parts = {
        "slice": f"{number % SLICES + 1}/{SLICES}",
        "half": f"HALF={half}/2 ALSO='{also}'",
        "notebooks": notebooks_of_commit(number),
    }
    for lane in lanes:
        lane.command = lane.command.format(**parts)
    signal.signal(signal.SIGTERM, stop_running)
    signal.signal(signal.SIGINT, stop_running)
    stages, started = select(selected), time.perf_counter()
    lanes = [lane for stage in stages for lane in stage]
    try:
        run_lanes(stages)
    finally:
        print_excesses(lanes)
        print_table(lanes, time.perf_counter() - started)
    sys.exit(any(lane.status or lane.exceeds_budget(TOLERANCE) for lane in lanes))


if __name__ == "__main__":
    main()
