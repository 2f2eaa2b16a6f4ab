"""The benchmarks run: with tiny models, whose figures say nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def output_of(code, *arguments, **variables):
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **variables, "PYTHONPATH": str(BENCHMARKS)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def rows_of(output):
    """The cells of the last table, without its head."""
    lines = [line for line in output.splitlines() if line.startswith("|")]
    start = max(i for i, line in enumerate(lines) if line.startswith("|---"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start + 1 :]]


def number(cell):
    return float(cell.split()[0].replace(",", ""))


@pytest.mark.slow
def test_that_of_a_gpu_needs_no_tensorflow():
    code = """
import sys
sys.modules["tensorflow"] = None
import gpu
gpu.main()
"""
    arguments = ["--sizes", "tiny", "--updates", "4", "--sentences", "8"]
    ((name, parameters, _, speed, share, _, greedy, beam),) = rows_of(
        output_of(code, *arguments, KERAS_BACKEND="jax")
    )
    assert name == "tiny" and number(parameters) > 10_000
    assert number(speed) > 0 and 0 < float(share.strip("%")) < 100
    assert number(greedy) > 0 and number(beam) > 0


@pytest.mark.parity
def test_that_of_training_runs_all_systems():
    code = "import training; training.main()"
    arguments = ["--preset", "tiny", "--updates", "3", "--rounds", "1"]
    rows = rows_of(output_of(code, *arguments, KERAS_BACKEND="tensorflow"))
    names = [row[0].split()[0] for row in rows]
    assert names == ["keras_transformer", "keras_transformer,", "torch.nn.Transformer", "KerasHub"]
    for _, speed, ratio, _, _, faults, peak in rows:
        assert number(speed) > 0 and number(ratio) > 0 and number(peak) > 0
        assert number(faults) >= 0
    assert number(rows[2][2]) == 1  # torch is the reference
