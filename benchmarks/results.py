"""Trains the runs of a table of results, with several seeds, and prints the table.

python benchmarks/results.py default
python benchmarks/results.py pickle --data english-german-both.pkl
python benchmarks/results.py candidates
"""

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from timing import made_with, use_one_core

ROOT = Path(__file__).resolve().parents[1]
# Sentences of beginners, to be translated exactly as one of their references.
SENTENCES = ["first-sentences", "blind-sentences"]
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


def evaluate(folder, with_sentences):
    """Returns the numbers of a table row except the time."""
    from keras_transformer import RunFolder, evaluate_run

    greedy, beam = (evaluate_run(folder, **options)[0] for options in ({}, {"beam_size": 4}))
    loss = min(row["validation_loss"] for row in RunFolder(folder).read_history())
    numbers = [loss, greedy.bleu, greedy.chrf, beam.bleu, beam.chrf]
    if with_sentences:
        tests = [ROOT / "data" / f"{name}.tsv" for name in SENTENCES]
        numbers += [evaluate_run(folder, test=test, beam_size=4)[0].exact for test in tests]
    return numbers


def cell(values, digits):
    """Formats the values of all seeds, and their mean."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return f"{', '.join(f'{value:.{digits}f}' for value in values)}; {mean}"


def main():
    arguments = read_arguments()
    use_one_core()
    own = arguments.data is None
    flags = ["--dtype", "float32", *([] if own else ["--data", arguments.data]), *arguments.flags]
    rows = {}
    for i, (label, changes) in enumerate(TABLES[arguments.table].items()):
        for seed in arguments.seeds:
            folder = arguments.runs / f"{arguments.table}-{i}-{seed}"
            seconds = train(folder, ["--seed", str(seed), *flags, *changes])
            rows.setdefault(label, []).append([seconds, *evaluate(folder, own)])
    names = ["CPU s", "validation loss", "BLEU", "chrF", "BLEU, beam 4", "chrF, beam 4"]
    names += [f"{name.replace('-', ' ')}, %" for name in SENTENCES] * own
    print("\n| run | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for label, results in rows.items():
        columns = zip(*results, strict=True)
        digits = [0, 2, 1, 1, 1, 1, 1, 1]
        cells = [cell(values, d) for values, d in zip(columns, digits, strict=False)]
        print(f"| {label} | " + " | ".join(cells) + " |")
    seeds = ", ".join(map(str, arguments.seeds))
    print(f"\nSeeds {seeds}; mean. float32, one core, {made_with('tensorflow', 'sacrebleu')}.")


if __name__ == "__main__":
    main()
