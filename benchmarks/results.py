"""Trains the runs of a table of results, with several seeds, and prints the table.

python benchmarks/results.py default
python benchmarks/results.py pickle --data english-german-both.pkl
python benchmarks/results.py candidates
"""

import argparse
import functools
import json
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
from timing import made_with, time_turns, use_one_core

ROOT = Path(__file__).resolve().parents[1]
# Sentences of beginners, to be translated exactly as one of their references.
SENTENCES = ["first-sentences", "blind-sentences"]
LLAMA = [
    "--normalization", "rms", "--gated", "--activation", "silu", "--d-ff", "170", "--h-kv", "2",
    "--no-use-bias",
]  # fmt: skip
# The runs of each table: a label and the flags of scripts/train.py.
TABLES = {
    "default": {"default run": []},
    "pickle": {"first 10,000 pairs": ["--n-sentences", "10000"]},
    "candidates": {  # for the sizes of the default run
        "d_ff 512, 4 epochs": ["--d-ff", "512", "--epochs", "4"],
        "1 + 1 layers, d_ff 512, 6 epochs": ["--n", "1", "--d-ff", "512", "--epochs", "6"],
    },
    "blocks": {  # one block exchanged, with the same number of parameters where it has weights
        "default run": [],
        "post-norm": ["--no-norm-first"],
        "RMS normalization": ["--normalization", "rms"],
        "SwiGLU, d_ff 170": ["--gated", "--activation", "silu", "--d-ff", "170"],
        "GEGLU, d_ff 170": ["--gated", "--activation", "gelu", "--d-ff", "170"],
        "multi-query attention": ["--h-kv", "1"],
        "QK-normalization": ["--qk-norm"],
        "sinusoids": ["--rotary-base", "none"],
        "ALiBi": ["--rotary-base", "none", "--relative-positions", "alibi"],
        "T5's relative bias": ["--rotary-base", "none", "--relative-positions", "t5"],
        "window of 4": ["--window", "4"],
        "no biases": ["--no-use-bias"],
        "2017: post-norm, sinusoids": ["--no-norm-first", "--rotary-base", "none"],
        "Llama: RMS, SwiGLU, h_kv 2, no biases": LLAMA,
    },
}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=list(TABLES))
    parser.add_argument("--data", help="file of pairs (default: the project's own corpus)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--runs", type=Path, default=Path("runs/results"), help="folder for runs")
    parser.add_argument(
        "--flags", nargs=argparse.REMAINDER, default=[], help="further flags of train.py"
    )
    return parser.parse_args()


def train(folder, flags):
    """Trains a run with train.py, which evaluates it, too; returns the CPU time in seconds."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, str(ROOT / "scripts" / "train.py"), "--run", str(folder), *flags]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def evaluate(folder, searches, with_sentences):
    """Returns the numbers of a table row except the time."""
    from keras_transformer import RunFolder, evaluate_run

    numbers = [min(row["validation_loss"] for row in RunFolder(folder).read_history())]
    for options in searches:
        scores = evaluate_run(folder, **options)[0]
        numbers += [scores.bleu, scores.chrf]
    if with_sentences:
        tests = [ROOT / "data" / f"{name}.tsv" for name in SENTENCES]
        numbers += [evaluate_run(folder, test=test, beam_size=4)[0].exact for test in tests]
    return numbers


def results_of(folder, flags, *columns):
    """Returns the numbers of a table row, from an earlier call with the same flags if there is one.

    They are written to the folder of the run, so that an interrupted table can be continued.
    """
    file = folder / "results.json"
    if not file.exists() or (saved := json.loads(file.read_text()))["flags"] != flags:
        saved = {"flags": flags, "numbers": [train(folder, flags)]}
        saved["numbers"] += evaluate(folder, *columns)
        file.write_text(json.dumps(saved))
    return saved["numbers"]


def cell(values, digits):
    """Formats the values of all seeds, and their mean."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return f"{', '.join(f'{value:.{digits}f}' for value in values)}; {mean}"


def time_decoding(folders, rounds, count=200):
    """Prints the speed of greedy translation and the size of the cache for the runs in folders.

    Args:
        folders: dictionary from labels to run folders. The first is also timed with the engine
            "layers", which serves the blocks that the NumPy engine does not know.
        rounds: number of turns of each run.
        count: number of test sentences.
    """
    from keras_transformer import RunFolder, Translate

    first, *_ = folders
    systems = {label: Translate.from_run(folder) for label, folder in folders.items()}
    systems[f"{first}, layers"] = Translate.from_run(folders[first], engine="layers")
    sentences = [source for source, _ in RunFolder(folders[first]).read_test()[:count]]
    calls = {label: functools.partial(x, sentences) for label, x in systems.items()}
    print("\n| run | sentences per CPU s | engine | cache, bytes per word |\n|---|---|---|---|")
    for label, (_, cpu) in time_turns(calls, rounds).items():
        translate = systems[label]
        rate = f"{count / cpu.median:.0f} ±{cpu.relative:.0%}"
        print(f"| {label} | {rate} | {translate.engine} | {cache_bytes(translate.model):,} |")


def cache_bytes(model, length=100):
    """Returns the size of the KV cache per word of the translation."""
    cache, _ = model.start(np.ones((1, 2), "int32"), length)
    return sum(np.asarray(x).nbytes for layer in cache["layers"] for x in layer) // length


def main():
    arguments = read_arguments()
    use_one_core()
    blocks = arguments.table == "blocks"
    searches = [{}] if blocks else [{}, {"beam_size": 4}]
    own = arguments.data is None and not blocks
    flags = ["--dtype", "float32", *arguments.flags]
    if arguments.data:
        flags += ["--data", arguments.data]
    rows = {}
    for seed in arguments.seeds:
        for i, (label, changes) in enumerate(TABLES[arguments.table].items()):
            folder = arguments.runs / f"{arguments.table}-{i}-{seed}"
            numbers = results_of(folder, ["--seed", str(seed), *flags, *changes], searches, own)
            rows.setdefault(label, []).append(numbers)
            print(label, seed, *numbers, flush=True)
    names = ["CPU s", "validation loss", "BLEU", "chrF"]
    names += ["BLEU, beam 4", "chrF, beam 4"] * (not blocks)
    names += [f"{name.replace('-', ' ')}, %" for name in SENTENCES] * own
    print("\n| run | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for label, results in rows.items():
        columns = zip(*results, strict=True)
        digits = [0, 3, 1, 1, 1, 1, 1, 1]
        cells = [cell(values, d) for values, d in zip(columns, digits, strict=False)]
        print(f"| {label} | " + " | ".join(cells) + " |")
    if blocks:
        seed = arguments.seeds[0]
        folders = [arguments.runs / f"blocks-{i}-{seed}" for i in range(len(rows))]
        time_decoding(dict(zip(rows, folders, strict=True)), rounds=7)
    seeds = ", ".join(map(str, arguments.seeds))
    print(f"\nSeeds {seeds}; mean. float32, one core, {made_with('tensorflow', 'sacrebleu')}.")


if __name__ == "__main__":
    main()
