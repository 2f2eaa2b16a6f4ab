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

SHARD = 1000  # sentences
POLL = 0.1  # seconds
SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=40_000, help="size of the corpus")
    parser.add_argument("--actors", nargs="+", type=int, default=[1, 2], help="numbers of actors")
    parser.add_argument("--kills", type=int, default=0, help="kill an actor this often")
    parser.add_argument("--driver-kills", type=int, default=0, help="kill the command this often")
    return parser.parse_args()


def write_shards(folder, sentences, size=SHARD):
    """Writes shards; returns their folder."""
    folder.mkdir()
    for start in range(0, len(sentences), size):
        text = "\n".join(sentences[start : start + size]) + "\n"
        (folder / f"part-{start // size:05}.txt").write_text(text, encoding="utf-8")
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


def measure(script, *arguments, watch=lambda process, seen: None):
    """Runs a script; returns its seconds, CPU seconds and the peak of its memory in MB."""
    start, cpu, peak = time.perf_counter(), {}, 0.0
    with tempfile.TemporaryFile() as output:
        streams = {"stdout": output, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(
            [sys.executable, SCRIPTS / script, *map(str, arguments)], **streams
        )
        while process.poll() is None:
            seen = processes(process.pid)
            cpu |= {key: value[0] for key, value in seen.items()}
            peak = max(peak, sum(memory for _, memory, _ in seen.values()))
            watch(process, seen)
            time.sleep(POLL)
        if process.returncode not in (0, -signal.SIGKILL):
            output.seek(0)
            sys.exit(output.read().decode())
    return time.perf_counter() - start, sum(cpu.values()), peak


def command(corpus, output, actors):
    flags = ("--output", output, "--actors", actors)
    return ("translate_corpus.py", bundled_run(), corpus, *flags)


def bundled_run():
    from keras_transformer.data.corpus import bundled_run_path

    return bundled_run_path()


def print_speed(folder, sentences, actors):
    """Prints the cost of the start, that of each sentence, and the peak of the memory."""
    few = write_shards(folder / "few", sentences[: max(actors)], size=1)
    small = write_shards(folder / "small", sentences[: len(sentences) // 10])
    corpus = write_shards(folder / "corpus", sentences)
    everything = folder / "all.txt"
    everything.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    single = folder / "one.txt"
    single.write_text(sentences[0] + "\n", encoding="utf-8")

    def file(path):
        return measure("translate.py", bundled_run(), "--file", path)

    def ray(corpus, number):
        with tempfile.TemporaryDirectory() as output:
            return measure(*command(corpus, Path(output) / "out", number))

    print("| | start, s | CPU s | sentences/s | CPU ms per sentence | MB, a tenth | MB, all |")
    print("|---|---|---|---|---|---|---|")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:1])
    print_row("`translate --file`, one core", len(sentences), file(single), None, file(everything))
    for number in actors:
        os.sched_setaffinity(0, sorted(cores)[:number])
        costs = (ray(few, number), ray(small, number), ray(corpus, number))
        print_row(f"{number} actor(s)", len(sentences), *costs)
    os.sched_setaffinity(0, cores)


def print_row(name, number, start, small, all_):
    seconds, cpu = all_[0] - start[0], all_[1] - start[1]
    tenth = f"{small[2]:,.0f}" if small else ""
    print(
        f"| {name} | {start[0]:.1f} | {start[1]:.1f} | {number / seconds:,.0f} "
        f"| {1e3 * cpu / number:.3f} | {tenth} | {all_[2]:,.0f} |",
        flush=True,
    )


def print_kills(folder, sentences, actors, kills, driver_kills):
    """Kills actors and the command at random moments and compares the translations."""
    corpus = write_shards(folder / "killed-corpus", sentences)
    undisturbed, disturbed = folder / "undisturbed", folder / "disturbed"
    measure(*command(corpus, undisturbed, actors))
    chance, left = random.Random(0), {"actors": kills, "drivers": driver_kills}
    started = when = time.monotonic()

    def watch(process, seen):
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
        os.kill(process.pid if kind == "drivers" else chance.choice(workers), signal.SIGKILL)

    starts = 0
    while (
        starts == 0
        or sum(left.values())
        or len(list(disturbed.glob("part-*"))) < len(list(corpus.iterdir()))
    ):
        starts += 1
        measure(*command(corpus, disturbed, actors), watch=watch)
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
    from timing import made_with

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
            print_speed(Path(folder), sentences, arguments.actors)
    print(f"\n{made_with('tensorflow', 'ray')}. {len(sentences):,} sentences, shards of {SHARD:,}.")


if __name__ == "__main__":
    main()
