"""Measures the translation of a corpus with Ray: speed, CPU time, memory, and killed processes.

python benchmarks/corpus.py
python benchmarks/corpus.py --kills 20 --driver-kills 5
"""

import argparse
import filecmp
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import Spread, made_with

SHARD = 1000  # sentences
POLL = 0.1  # seconds
SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=40_000, help="size of the corpus")
    parser.add_argument("--actors", nargs="+", type=int, default=[1, 2], help="numbers of actors")
    parser.add_argument("--rounds", type=int, default=3, help="alternating runs of each system")
    parser.add_argument("--kills", type=int, default=0, help="kill an actor this often")
    parser.add_argument("--driver-kills", type=int, default=0, help="kill the command this often")
    return parser.parse_args()


def write_shards(folder, sentences):
    """Writes shards; returns their folder."""
    folder.mkdir()
    for start in range(0, len(sentences), SHARD):
        text = "\n".join(sentences[start : start + SHARD]) + "\n"
        (folder / f"part-{start // SHARD:05}.txt").write_text(text, encoding="utf-8")
    return folder


def processes(root):
    """Returns the processes below one, as {(id, start): (CPU seconds, memory in MB, name)}."""
    found, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "stat").read_text()
            memory = int((path / "statm").read_text().split()[1]) * PAGE / 1e6
        except OSError:
            continue  # it has ended
        name, fields = line[line.index("(") + 1 : line.rindex(")")], line.rpartition(")")[2].split()
        pid, cpu = int(path.name), (int(fields[11]) + int(fields[12])) / TICKS
        parents[pid], found[pid] = int(fields[1]), ((pid, fields[19]), (cpu, memory, name))
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return dict(found[pid] for pid in below if pid in found)


class Run:
    """A script that runs: its seconds, the CPU seconds and the memory of all its processes.

    Args:
        script, *arguments: name of the script and its arguments.
        watch: function from the `Run` and its processes, called every tenth of a second.
    """

    def __init__(self, script, *arguments, watch=lambda run, seen: None):
        start, cpu = time.perf_counter(), {}
        self.seconds = self.cpu = self.peak = 0.0
        with tempfile.NamedTemporaryFile() as self.output:
            streams = {"stdout": self.output, "stderr": subprocess.STDOUT}
            self.process = subprocess.Popen(
                [sys.executable, SCRIPTS / script, *map(str, arguments)], **streams
            )
            while self.process.poll() is None:
                seen = processes(self.process.pid)
                cpu |= {key: value[0] for key, value in seen.items()}
                self.seconds, self.cpu = time.perf_counter() - start, sum(cpu.values())
                self.peak = max(self.peak, sum(memory for _, memory, _ in seen.values()))
                watch(self, seen)
                time.sleep(POLL)
            if self.process.returncode not in (0, -signal.SIGKILL):
                sys.exit(Path(self.output.name).read_text())


def command(corpus, output, actors):
    flags = ("--output", output, "--actors", actors)
    return ("translate_corpus.py", bundled_run(), corpus, *flags)


def bundled_run():
    from keras_transformer.data.corpus import bundled_run_path

    return bundled_run_path()


def print_speed(folder, sentences, actors, rounds):
    """Prints the cost of a sentence, that of the start, and the peak of the memory.

    A sentence costs what is spent on those after the first quarter. By then everything has started.
    """
    corpus, file = write_shards(folder / "corpus", sentences), folder / "all.txt"
    file.write_text("\n".join(sentences) + "\n", encoding="utf-8")

    def translate_file(number):
        def lines(run):
            return Path(run.output.name).read_bytes().count(b"\n")

        return costs(len(sentences), lines, "translate.py", bundled_run(), "--file", file)

    def translate_corpus(number):
        with tempfile.TemporaryDirectory() as output:
            output = Path(output) / "translated"

            def lines(run):
                return SHARD * len(list(output.glob("part-*")))

            return costs(len(sentences), lines, *command(corpus, output, number))

    systems = {"`translate --file`": (translate_file, 1)}
    systems |= {f"{number} actor(s)": (translate_corpus, number) for number in actors}
    cores = sorted(os.sched_getaffinity(0))
    found = {name: [] for name in systems}
    for _ in range(rounds):
        for name, (run, number) in systems.items():
            os.sched_setaffinity(0, cores[:number])
            found[name].append(run(number))
    os.sched_setaffinity(0, cores)
    print(
        "| | sentences/s | CPU ms per sentence | relative | start, s | CPU s | MB | MB at the end |"
    )
    print("|---|---|---|---|---|---|---|---|")
    reference = [row[1] for row in found["`translate --file`"]]
    for name, rows in found.items():
        rate, cpu, *others = (Spread(column) for column in zip(*rows, strict=True))
        ratio = Spread([row[1] / other for row, other in zip(rows, reference, strict=True)])
        cells = [
            f"{rate.median:,.0f} ±{rate.relative:.0%}",
            f"{cpu.median:.3f} ±{cpu.relative:.0%}",
        ]
        cells += [f"{ratio.median:.2f} ±{ratio.relative:.0%}"]
        cells += [f"{x.median:.1f}" for x in others[:2]] + [f"{x.median:,.0f}" for x in others[2:]]
        print("|", " | ".join((name, *cells)), "|")


def costs(number, count_lines, *arguments):
    """Translates a number of sentences.

    Args:
        count_lines: function from the `Run` to the number of translations that are written.
        *arguments: those of `Run`.

    Returns:
        Sentences per second and CPU ms per sentence after the first quarter, seconds and CPU
        seconds of the start, and the peak of the memory in MB after a quarter and at the end.
    """
    quarter = None

    def watch(run, seen):
        nonlocal quarter
        if quarter is None and (lines := count_lines(run)) >= number / 4:
            quarter = (lines, run.seconds, run.cpu, run.peak)

    run = Run(*arguments, watch=watch)
    if quarter is None or quarter[0] >= number:
        sys.exit(f"More sentences are needed: these were translated at once. Received: {number}")
    lines, seconds, cpu, peak = quarter
    seconds_each, cpu_each = (
        (x - y) / (number - lines) for x, y in ((run.seconds, seconds), (run.cpu, cpu))
    )
    start = (seconds - lines * seconds_each, cpu - lines * cpu_each)
    return 1 / seconds_each, 1e3 * cpu_each, *start, peak, run.peak


def print_kills(folder, sentences, actors, kills, driver_kills):
    """Kills actors and the command at random moments and compares the translations."""
    corpus = write_shards(folder / "killed-corpus", sentences)
    undisturbed, disturbed = folder / "undisturbed", folder / "disturbed"
    Run(*command(corpus, undisturbed, actors))
    chance, left = random.Random(0), {"actors": kills, "drivers": driver_kills}
    started = when = time.monotonic()

    def watch(run, seen):
        nonlocal when
        workers = [pid for (pid, _), (_, _, name) in seen.items() if name.startswith("ray::Shard")]
        if time.monotonic() < when or not workers:
            return
        when = time.monotonic() + chance.uniform(0.5, 10)
        whole = [x for x in ("actors", "drivers") for _ in range(left[x])]
        if not whole:
            return
        kind = chance.choice(whole)
        left[kind] -= 1
        os.kill(run.process.pid if kind == "drivers" else chance.choice(workers), signal.SIGKILL)

    starts = 0
    while (
        starts == 0
        or sum(left.values())
        or len(list(disturbed.glob("part-*"))) < len(list(corpus.iterdir()))
    ):
        starts += 1
        Run(*command(corpus, disturbed, actors), watch=watch)
        if sum(left.values()) and (disturbed / "_job/untranslated.tsv").exists():
            # The corpus was finished before the last kill: begin again with half of it.
            for path in sorted(disturbed.glob("part-*"))[::2]:
                path.unlink()
    names = [path.relative_to(undisturbed) for path in undisturbed.rglob("*") if path.is_file()]
    found = [path.relative_to(disturbed) for path in disturbed.rglob("*") if path.is_file()]
    _, different, missing = filecmp.cmpfiles(undisturbed, disturbed, names, shallow=False)
    more = set(found) - set(names)
    print(
        f"\n{kills} actors and {driver_kills} commands killed with SIGKILL, {starts} starts, "
        f"{time.monotonic() - started:.0f} s: {len(names)} files, {len(different)} different, "
        f"{len(missing)} missing, {len(more)} left over"
    )


def main():
    arguments = read_arguments()
    from keras_transformer.data.corpus import corpus_path

    lines = corpus_path().read_text(encoding="utf-8").splitlines()
    sentences = [line.split("\t")[0] for line in lines]
    random.Random(1).shuffle(sentences)
    sentences = sentences[: arguments.sentences]
    with tempfile.TemporaryDirectory() as folder:
        if arguments.kills or arguments.driver_kills:
            kills = (arguments.kills, arguments.driver_kills)
            print_kills(Path(folder), sentences, max(arguments.actors), *kills)
        else:
            print_speed(Path(folder), sentences, arguments.actors, arguments.rounds)
    print(f"\n{made_with('tensorflow', 'ray')}. {len(sentences):,} sentences, shards of {SHARD:,}.")


if __name__ == "__main__":
    main()
