"""Runs the lanes of CI, measures each, and compares its processor time with its budget.

A lane over its budget is reported and does not fail. A lane that fails stops those that follow.
Standard library only: it runs before anything is installed.
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

SLICES = 19
PATIENCE = 10  # seconds that a lane has for ending
TOLERANCE = 1.5  # a lane that takes so many times its budget is reported
# A line of `pytest --durations`, and one of notebooks/build.py.
DURATION = re.compile(r"^ *(\d+\.\d+)s (?:call|setup|teardown) +(.*)|^(.*): \d+ cells, (\d+) s$")


def slice_of_commit():
    """Returns which slice of `make test-all` this commit runs, from 1 to SLICES.

    A push adds any number of commits. The count of commits modulo a prime still visits every
    slice in SLICES pushes if each adds the same number, which modulo 20 would not (5 commits at
    a time: 4 slices). A hash would leave a third of the slices out of twenty pushes, on average.
    A shallow clone cannot count, so there the hash of the commit decides.
    """

    def git(*arguments):
        return subprocess.check_output(("git", *arguments), text=True).strip()

    if git("rev-parse", "--is-shallow-repository") == "true":
        return int(git("rev-parse", "HEAD"), 16) % SLICES + 1
    return int(git("rev-list", "--count", "HEAD")) % SLICES + 1


def has_chromium():
    return shutil.which("chromedriver") and (
        shutil.which("chromium") or shutil.which("chromium-browser")
    )


@dataclass
class Lane:
    name: str
    command: str
    budget: float | None = None  # minutes of processor time
    status: int | None = None  # None: not run
    remark: str = "not run"
    processor: float = 0.0
    wall: float = 0.0
    durations: list = field(default_factory=list)

    def run(self):
        """Runs the command, prints its output with the lane's name, and takes its times."""
        print(f"{self.name} | {self.command}", flush=True)
        started = time.perf_counter()
        options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --durations=5"
        # A session of its own, so that all its processes can be ended together.
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
        # The usage includes all descendants that were waited for, as make and pytest do. Chromium
        # does not wait for some of its processes: 10 of the 34 s of the browser lane are missing.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait again
        del running[self.name]
        reader.join(10)  # a process left behind may keep the pipe open
        self.wall = (time.perf_counter() - started) / 60
        self.processor = (usage.ru_utime + usage.ru_stime) / 60
        self.status = process.returncode

    def read(self, lines):
        for line in lines:
            print(f"{self.name} | {line}", end="", flush=True)
            if match := DURATION.match(line):
                seconds, test, notebook, notebook_seconds = match.groups()
                self.durations.append((float(seconds or notebook_seconds), test or notebook))

    def is_over(self, tolerance):
        return self.budget is not None and self.processor > tolerance * self.budget


running = {}  # process ids of the lanes that run
stop = threading.Event()  # no further lane is started

# Stage after stage; the lanes of a stage run two at a time, in this order. `make test` and
# `make test-slow` run two processes each by themselves, so they have a stage of their own.
STAGES = [
    [Lane("install", ".ci/install")],
    [Lane("check", "make check", 1)],
    [Lane("test", "make test", 6)],
    # Of these, notebooks is the longest. Whatever a stage starts first should be.
    [
        Lane("notebooks", "make notebooks", 10),
        Lane("train", ".ci/train", 5),
        Lane("parity", "make parity", 3),
        Lane("test-all", "make test-all SLICE={slice}", 4),
        Lane("browser", "make test-browser", 3),
        Lane("docs", "make docs", 1),
    ],
    [Lane("slow", "make test-slow", 10)],
]


def choose(names):
    """Returns the stages with the lanes of these names, or all; installing is always among them."""
    stages = [[x for x in stage if not names or x.name in ("install", *names)] for stage in STAGES]
    return [stage for stage in stages if stage]


def run_lanes(stages):
    """Runs stage after stage; after a failure no further lane is started."""

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
            list(pool.map(run, stage))  # raises what a lane raised


def print_table(lanes, seconds):
    print(f"\n{'lane':10} | {'budget':>7} | {'CPU min':>7} | {'wall min':>8} | over?")
    for lane in lanes:
        budget = "" if lane.budget is None else f"{lane.budget:.0f}"
        if lane.status is None:
            print(f"{lane.name:10} | {budget:>7} | {'':7} | {'':8} | {lane.remark}")
            continue
        remarks = ["over"] if lane.is_over(1) else []
        remarks += [f"failed, exit status {lane.status}"] if lane.status else []
        times = f"{lane.processor:7.2f} | {lane.wall:8.2f}"
        print(f"{lane.name:10} | {budget:>7} | {times} | {', '.join(remarks)}")
    total = sum(lane.processor for lane in lanes)
    print(f"{'all':10} | {'':7} | {total:7.2f} | {seconds / 60:8.2f} |", flush=True)


def print_warnings(lanes):
    for lane in lanes:
        if lane.is_over(TOLERANCE):
            print(
                f"\nWarning: {lane.name} took {lane.processor:.1f} minutes of processor time; "
                f"its budget is {lane.budget:.0f}. The slowest:"
            )
            for seconds, test in sorted(lane.durations, reverse=True)[:5]:
                print(f"  {seconds:6.1f} s  {test}")


def end_running(*_):
    """Ends the lanes that run, at once those that do not end by themselves within seconds."""
    stop.set()
    signal_running(signal.SIGTERM)
    waited_until = time.monotonic() + PATIENCE
    while running and time.monotonic() < waited_until:
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
    parser.add_argument("lanes", nargs="*", metavar="LANE", help=f"some of {', '.join(names)}")
    wanted = parser.parse_args().lanes
    if unknown := sorted(set(wanted) - set(names)):
        parser.error(f"There is no such lane: {', '.join(unknown)}")
    for lane in lanes:
        if lane.name == "test-all":
            lane.command = lane.command.format(slice=f"{slice_of_commit()}/{SLICES}")
    signal.signal(signal.SIGTERM, end_running)
    signal.signal(signal.SIGINT, end_running)
    stages, started = choose(wanted), time.perf_counter()
    lanes = [lane for stage in stages for lane in stage]
    try:
        run_lanes(stages)
    finally:
        print_warnings(lanes)
        print_table(lanes, time.perf_counter() - started)
    sys.exit(1 if any(lane.status for lane in lanes) else 0)


if __name__ == "__main__":
    main()
