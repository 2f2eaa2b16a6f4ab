"""How fast does a model train from a file, next to torch, KerasHub's layers and JoeyNMT?

The flags are those of train.py, so a recipe is measured as it is used:

python benchmarks/training.py
python benchmarks/training.py @scripts/recipes/multi30k-tiny.txt --dtype float32
python benchmarks/training.py --joeynmt /path/to/its/python --rounds 5
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

from training_peers import SYSTEMS, WARM_UP

from keras_transformer.backends.device import processor
from keras_transformer.cli import make_parser
from keras_transformer.data.corpus import corpus_path
from keras_transformer.runs.config import RunConfig

HERE = Path(__file__).resolve().parent
REFERENCE, JOEYNMT = "torch.nn.Transformer", "JoeyNMT"
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def read_arguments():
    """Returns the `RunConfig`, and the arguments that are not of `train.py`."""
    parser = make_parser("train", prog="training.py")
    parser.description = __doc__.splitlines()[0]
    parser.add_argument("--updates", type=int, default=40, help="measured in each turn")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each system")
    parser.add_argument("--joeynmt", metavar="PYTHON", help="of an environment that has JoeyNMT")
    parser.add_argument("--only", nargs="+", choices=SYSTEMS, help="systems (default: all)")
    changes = vars(parser.parse_args())
    for name in ("run", "resume"):  # of the recipe, or of no meaning here
        changes.pop(name)
    own = {name: changes.pop(name) for name in ("updates", "rounds", "joeynmt", "only")}
    config = RunConfig.from_preset(changes.pop("preset") or "small", **changes)
    if config.dtype == "auto":
        dtype = "mixed_bfloat16" if processor().bfloat16 else "float32"
        config = dataclasses.replace(config, dtype=dtype)
    return config, own


def run(system, task, python=sys.executable):
    """Runs a system in a process of its own; returns what it found."""
    command = [python, str(HERE / "training_peers.py"), system, json.dumps(task)]
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{system} failed:\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(config, own):
    """Runs all systems in turn; returns a list of results by system."""
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
        name: statistics.median((x["user"] + x["system"]) / x["tokens"] for x in turns)
        for name, turns in results.items()
    }
    reference = seconds.get(REFERENCE, next(iter(seconds.values())))
    print("| system | tokens/s of CPU time | times torch's | CPU s (system) of an update "
          "| wall s | page faults | peak GiB |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for name, turns in results.items():
        user, system, wall, faults, peak = (
            statistics.median(turn[key] for turn in turns)
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
        f"\n{processor().name or platform.machine()}",
        f"({', '.join(x for x in INSTRUCTIONS if x in flags)}), one thread pinned to a core;",
        f"{', '.join(f'{name} {version(name)}' for name in libraries)}.",
        f"{Path(config.data or corpus_path()).name}, {config.dtype}; oneDNN:",
        os.environ.get("TF_ENABLE_ONEDNN_OPTS", "as `tune_process` sets it") + ".",
        f"Medians of {own['rounds']} processes, which alternate; in each, {own['updates']} updates",
        f"after {WARM_UP} others. Tokens are those of the target without padding.",
    )


def main():
    config, own = read_arguments()
    print_table(measure(config, own), own["updates"])
    print_caption(config, own)


if __name__ == "__main__":
    main()
