"""Trains the translator of the Multi30k table from its files, with several seeds, and scores it.

python benchmarks/multi30k.py

One model learns both directions ("Improving Neural Machine Translation by Bidirectional Training",
Ding et al., 2021) and translates the training sentences of both languages. It then goes on learning
one direction, from the given pairs and from both translations ("Data Diversification: A Simple
Strategy For Neural Machine Translation", Nguyen et al., 2020, there with several models and new
weights). Three times the data need less dropout. Interrupted, the command goes on where it was.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from timing import made_with, use_one_core

from keras_transformer import evaluate_run, read_pairs, write_pairs

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
SEARCH = {"beam_size": 5, "length_penalty": 1.4}
TRANSLATING = ("--weights", "average", "--beam", 4, "--length-penalty", 1.0)
# Of the student, chosen on the validation part.
STUDENT = ("--rate", 0.2, "--learning-rate-scale", 0.55)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data/multi30k"), help="folder of files")
    parser.add_argument("--runs", type=Path, default=Path("runs/multi30k"), help="folder for runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--tests", nargs="+", default=["test_2016_flickr"], help="names of files")
    parser.add_argument(
        "--epochs", type=int, nargs=2, default=[28, 14], help="of both directions and of one"
    )
    return parser.parse_args()


class Steps:
    """Runs scripts one after another, each until it has succeeded once, and adds their CPU time.

    Args:
        folder: path of the folder of a seed.
    """

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "steps.json"
        self._state = {"done": [], "seconds": 0.0}
        if self._file.exists():
            self._state = json.loads(self._file.read_text())

    @property
    def minutes(self):
        """The CPU minutes of all steps."""
        return self._state["seconds"] / 60

    def run(self, name, script, *arguments):
        """Runs a script as the step of a name, unless that has succeeded before."""
        if name in self._state["done"]:
            return
        before = cpu_seconds()
        try:
            command = [sys.executable, SCRIPTS / f"{script}.py", *arguments]
            subprocess.run(list(map(str, command)), check=True)
            self._state["done"].append(name)
        finally:
            self._state["seconds"] += cpu_seconds() - before
            self._file.write_text(json.dumps(self._state))


def cpu_seconds():
    """Returns the CPU seconds of the processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def train(steps, run, pairs, validation, seed, epochs, *more):
    """Trains a run of the recipe and averages its last weights. The test files are not read."""
    flags = ["--data", pairs, "--validation", validation, "--test", validation, "--seed", seed]
    flags = [*flags, "--recipe", "multi30k-tiny", "--epochs", epochs, *more]
    steps.run(run.name, "train", "--run", run, *(["--resume"] if run.exists() else flags))
    steps.run(f"{run.name} averaged", "average_checkpoints", run, "--last", 5)


def translations(steps, run, sentences, output):
    """Returns the translations of sentences by a run."""
    source = output.with_suffix(".txt")
    source.write_text("".join(f"{x}\n" for x in sentences), encoding="utf-8")
    steps.run(output.name, "translate", run, "--file", source, "--output", output, *TRANSLATING)
    return output.read_text(encoding="utf-8").split("\n")[:-1]


def train_student(data, folder, seed, epochs):
    """Trains the models of a seed; returns the run folder of the last one and the CPU minutes."""
    steps, pairs, validation = Steps(folder), read_pairs(data / "train.tsv"), data / "val.tsv"
    both, student = folder / "both", folder / "student"
    write_pairs(folder / "both.tsv", pairs + [(target, source) for source, target in pairs])
    train(steps, both, folder / "both.tsv", validation, seed, epochs[0])
    sources, targets = map(list, zip(*pairs, strict=True))
    made = translations(steps, both, sources, folder / "targets.out")
    back = translations(steps, both, targets, folder / "sources.out")
    translated = [*zip(sources, made, strict=True), *zip(back, targets, strict=True)]
    write_pairs(folder / "all.tsv", pairs + [pair for pair in translated if all(pair)])
    flags = ("--from", both, *STUDENT)
    train(steps, student, folder / "all.tsv", validation, seed, epochs[1], *flags)
    return student, steps.minutes


def main():
    arguments = read_arguments()
    use_one_core()
    rows = []
    for seed in arguments.seeds:
        folder = arguments.runs / str(seed)
        student, minutes = train_student(arguments.data, folder, seed, arguments.epochs)
        options = {"weights": "average", "tokenize": "none", **SEARCH}
        tests = [arguments.data / f"{name}.tsv" for name in ("val", *arguments.tests)]
        scores = [evaluate_run(student, test=test, **options)[0] for test in tests]
        rows.append([minutes, *(score.bleu for score in scores)])
        print(seed, *rows[-1], flush=True)
    names = ["CPU minutes", *(f"BLEU of {name}" for name in ("val", *arguments.tests))]
    print("\n| | " + " | ".join(map(str, arguments.seeds)) + " | mean | spread |")
    print("|---" * (len(rows) + 3) + "|")
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        cells = [*values, statistics.mean(values), max(values) - min(values)]
        print(f"| {name} | " + " | ".join(f"{x:.1f}" for x in cells) + " |")
    print(f"\nOne core, {made_with('tensorflow', 'sacrebleu')}.")


if __name__ == "__main__":
    main()
