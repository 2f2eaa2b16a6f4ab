"""Compares the training speed with that of PyTorch, KerasHub and JoeyNMT.

Accepts the flags of train.py and its recipes:

python benchmarks/training.py
python benchmarks/training.py --recipe multi30k-tiny --dtype float32
python benchmarks/training.py --joeynmt /path/to/environment/bin/python --rounds 5
"""

import dataclasses
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from timing import this_version
from training_peers import SYSTEMS, WARM_UP

from keras_transformer.backends.device import describe_cpu
from keras_transformer.cli import make_parser
from keras_transformer.data.corpus import corpus_path
from keras_transformer.runs.config import RunConfig
from keras_transformer.runs.recipes import read_recipe

HERE = Path(__file__).resolve().parent
REFERENCE, JOEYNMT = "torch.nn.Transformer", "JoeyNMT"
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def read_arguments():
    """Returns the `RunConfig` and a dictionary of the arguments of the benchmark."""
    parser = make_parser("train", prog="training.py")
    parser.description = __doc__.splitlines()[0]
    parser.add_argument("--updates", type=int, default=40, help="updates to time (default: 40)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each system (default: 5)")
    parser.add_argument(
        "--joeynmt", metavar="PYTHON", help="interpreter of an environment with JoeyNMT"
    )
    parser.add_argument("--only", nargs="+", choices=SYSTEMS, help="systems (default: all)")
    changes = vars(parser.parse_args())
    for name in ("run", "resume", "list_recipes", "model_parallel"):  # do not apply here
        changes.pop(name)
    recipe, pairs = changes.pop("recipe", None), changes.pop("pairs")
    settings = {**(read_recipe(recipe) if recipe else {}), **({"data": pairs} if pairs else {})}
    own = {name: changes.pop(name) for name in ("updates", "rounds", "joeynmt", "only")}
    # The model and the optimizer that the peers have, too.
    peers = {"rate": 0.1, "rotary_base": None, "optimizer": "adam"}
    config = RunConfig(**{**peers, **settings, **changes})
    if config.dtype == "auto":
        dtype = "mixed_bfloat16" if describe_cpu().bfloat16 else "float32"
        config = dataclasses.replace(config, dtype=dtype)
    return config, own


def run(system, task, python=sys.executable):
    """Runs a system in a separate process; returns the JSON object that it prints."""
    command = [python, str(HERE / "training_peers.py"), system, json.dumps(task)]
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    if process.returncode:
        raise RuntimeError(f"{system} failed:\n{process.stdout}\n{process.stderr}")
    return json.loads(process.stdout.splitlines()[-1])


def measure(config, own):
    """Runs the systems alternately; returns a dictionary from names to lists of results."""
    pythons = dict.fromkeys(own["only"] or SYSTEMS, sys.executable)
    if own["joeynmt"]:
        pythons[JOEYNMT] = own["joeynmt"]
    else:
        pythons.pop(JOEYNMT, None)
    results = {name: [] for name in pythons}
    task = {"config": dataclasses.asdict(config), "updates": own["updates"]}
    with tempfile.TemporaryDirectory() as prepared:
        run("prepare", {**task, "folder": prepared})
        for _ in range(own["rounds"]):
            for name, python in pythons.items():
                with tempfile.TemporaryDirectory() as folder:
                    folders = {"prepared": prepared, "folder": folder}
                    results[name].append(run(name, {**task, **folders}, python))
    return results


def print_table(results, updates):
    seconds = {
        name: statistics.median((x["user"] + x["system"]) / x["tokens"] for x in runs)
        for name, runs in results.items()
    }
    reference = seconds.get(REFERENCE, next(iter(seconds.values())))
    print(
        "| system | tokens per CPU s | speed relative to PyTorch | CPU s per update (system) "
        "| wall s per update | page faults per update | peak GiB |\n|---|---|---|---|---|---|---|"
    )
    for name, runs in results.items():
        user, system, wall, faults, peak = (
            statistics.median(x[key] for x in runs)
            for key in ("user", "system", "wall", "faults", "peak")
        )
        print(
            f"| {name} | {1 / seconds[name]:,.0f} | {reference / seconds[name]:.2f} "
            f"| {(user + system) / updates:.3f} ({system / updates:.3f}) | {wall / updates:.3f} "
            f"| {faults / updates:,.0f} | {peak:.2f} |"
        )


def print_caption(config, own):
    info = Path("/proc/cpuinfo")
    flags = set(info.read_text().split()) if info.exists() else set()
    libraries = ("keras", "tensorflow", "keras-hub", "torch")
    print(
        f"\n{describe_cpu().name or platform.machine()}",
        f"({', '.join(x for x in INSTRUCTIONS if x in flags)}), one thread pinned to one core;",
        ", ".join([*this_version(), *(f"{name} {version(name)}" for name in libraries)]) + ".",
        f"{Path(config.data or corpus_path()).name}, {config.dtype}; oneDNN:",
        os.environ.get("TF_ENABLE_ONEDNN_OPTS", "as set by `tune_process`") + ".",
        f"Medians of {own['rounds']} alternating processes with {own['updates']} updates each,",
        f"after {WARM_UP} warm-up updates. Tokens are target tokens without padding.",
    )


def main():
    config, own = read_arguments()
    print_table(measure(config, own), own["updates"])
    print_caption(config, own)


if __name__ == "__main__":
    main()
