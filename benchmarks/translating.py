"""Compares the speed of `Translate` on real sentences with that of CTranslate2 and KerasHub.

python benchmarks/translating.py
python benchmarks/translating.py runs/multi30k --file test2016.en --rounds 7

All systems translate with the weights of the same run: one sentence per call, and all sentences in
one call. The first call compiles or traces; it is timed apart. Then the systems take turns.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

from timing import Spread, made_with, time_calls, use_cores

REFERENCE = "CTranslate2 float32"
HUB = "KerasHub layers, with KV cache, XLA"  # greedy search only
SINGLE, MODES = 100, ("one at a time", "file")  # number of sentences that are translated singly


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "run",
        nargs="?",
        default="data/bundled-run",
        help="run folder of a pre-norm transformer with tied output (default: %(default)s)",
    )
    parser.add_argument("--file", help="one sentence per line (default: the test part of the run)")
    parser.add_argument("--sentences", type=int, default=1000, help="number of sentences")
    parser.add_argument("--beam", nargs="+", type=int, default=[1, 4], help="beam sizes")
    parser.add_argument("--rounds", type=int, default=5, help="rounds to time")
    parser.add_argument("--cores", type=int, default=1, help="number of cores")
    parser.add_argument("--core", type=int, help="first core (default: the first allowed)")
    parser.add_argument("--xla", action="store_true", help="also time Translate with XLA")
    parser.add_argument("--system", help=argparse.SUPPRESS)  # to measure its memory
    return parser.parse_args()


def read_sentences(arguments):
    path = Path(arguments.file or Path(arguments.run) / "test.tsv")
    lines = [line.split("\t")[0] for line in path.read_text(encoding="utf-8").splitlines()]
    random.Random(0).shuffle(lines)  # a file is not sorted by length
    return lines[: arguments.sentences]


def makers(arguments):
    """Returns a dictionary from the names of the systems to functions that load them."""
    import keras
    from hub_translate import HubTranslate

    import keras_transformer as kt

    def ours(**options):
        return kt.Translate.from_run(arguments.run, **options)

    systems = {"keras_transformer": ours}
    if keras.config.backend() == "tensorflow":
        systems["keras_transformer, graph"] = lambda: ours(jit_compile=False)
    if arguments.xla:
        systems["keras_transformer, XLA"] = lambda: ours(jit_compile=True)
    if kt.RunFolder(arguments.run).read_config().rotary_base is None:  # which KerasHub has not
        systems[HUB] = lambda: HubTranslate(ours())
    systems[REFERENCE] = lambda: ours(engine="ctranslate2")
    systems["CTranslate2 int8"] = lambda: ours(engine="ctranslate2", compute_type="int8")
    return systems


def workloads(translate, sentences, beam_size):
    """Returns functions that translate the first sentences singly, and all in one call."""
    return [
        lambda: [translate(x, beam_size=beam_size) for x in sentences[:SINGLE]],
        lambda: translate(sentences, beam_size=beam_size),
    ]


def time_systems(systems, sentences, beam_size, rounds):
    """Times all systems and prints a table with the sentences per second of CPU time."""
    counts = [min(SINGLE, len(sentences)), len(sentences)]
    runs = {name: workloads(x, sentences, beam_size) for name, x in systems.items()}
    first = {name: [time_calls(run)[1] for run in pair] for name, pair in runs.items()}
    times = {name: ([], []) for name in runs}
    for _ in range(rounds):
        for name, pair in runs.items():
            for run, seconds in zip(pair, times[name], strict=True):
                seconds.append(time_calls(run)[1])
    spreads = {name: [Spread(x) for x in pair] for name, pair in times.items()}
    expected = systems[REFERENCE](sentences, beam_size=beam_size)
    print(f"\nBeam size {beam_size}: sentences per second of CPU time\n")
    print("| system |", " | ".join(f"{x}, first call | later calls" for x in MODES), "| equal |")
    print("|---|" + "---|" * (2 * len(MODES) + 1))
    for name, translate in systems.items():
        cells = []
        for i, count in enumerate(counts):
            spread, reference = spreads[name][i], spreads[REFERENCE][i]
            ratio = reference.median / spread.median
            later = f"{count / spread.median:,.0f} ±{spread.relative:.0%} ({ratio:.2f})"
            cells += [f"{count / first[name][i]:,.0f}", later]
        found = translate(sentences, beam_size=beam_size)
        equal = sum(x == y for x, y in zip(found, expected, strict=True)) / len(expected)
        print(f"| {name} |", " | ".join(cells), f"| {equal:.1%} |", flush=True)


def measure_start(arguments, name):
    """Prints the CPU seconds until the first translation and after all, and the peak memory."""
    sentences, translate = read_sentences(arguments), makers(arguments)[name]()
    translate(sentences[0])
    first = time.process_time()
    translate(sentences)
    # Not the `ru_maxrss` of this process, which begins with that of its parent.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"first": first, "all": time.process_time(), "peak": peak}))


def print_starts(names):
    """Measures each system in a process of its own and prints a table."""
    print("\n| system | CPU s to the first translation | to the last | peak memory, MB |")
    print("|---|---|---|---|")
    for name in names:
        command = [sys.executable, *sys.argv, "--system", name]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        values = json.loads(output.splitlines()[-1])
        print(f"| {name} | {values['first']:.1f} | {values['all']:.1f} | {values['peak']:,.0f} |")


def main():
    arguments = read_arguments()
    use_cores(arguments.cores, arguments.core)
    if arguments.system:
        measure_start(arguments, arguments.system)
        return
    sentences = read_sentences(arguments)
    systems = {name: make() for name, make in makers(arguments).items()}
    for beam_size in arguments.beam:
        if beam_size > 1:
            systems.pop(HUB, None)
        time_systems(systems, sentences, beam_size, arguments.rounds)
    print_starts([name for name in systems if name != HUB])
    words = sum(len(x.split()) for x in sentences) / len(sentences)
    single = min(SINGLE, len(sentences))
    libraries = ("tensorflow", "jax", "ctranslate2", "keras-hub")
    print(
        f"\n{made_with(*libraries)}, backend {keras_backend()}.",
        f"{arguments.cores} core(s). {len(sentences):,} sentences of {words:.1f} words on average;",
        f"{single} of them one at a time. Median of {arguments.rounds} rounds, ± half the",
        f"interquartile range; in parentheses, the speed relative to {REFERENCE}; at the end, the",
        "share of translations equal to its own.",
    )


def keras_backend():
    import keras

    return keras.config.backend()


if __name__ == "__main__":
    main()
