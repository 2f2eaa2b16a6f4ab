"""The benchmarks run with tiny models; the figures themselves are meaningless."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def run_code(code, *arguments, **variables):
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **variables, "PYTHONPATH": str(BENCHMARKS)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def table_rows(output):
    """Returns the cells of the last table without its header."""
    lines = [line for line in output.splitlines() if line.startswith("|")]
    start = max(i for i, line in enumerate(lines) if line.startswith("|---"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start + 1 :]]


def number(cell):
    return float(cell.split()[0].replace(",", ""))


@pytest.mark.slow
def test_gpu_benchmark_does_not_need_tensorflow():
    code = """
import sys
sys.modules["tensorflow"] = None
import gpu
gpu.main()
"""
    quick = ["--sizes", "tiny", "--language-model", "tiny", "--updates", "2", "--sentences", "4"]
    rows = table_rows(run_code(code, *quick, KERAS_BACKEND="jax"))
    what = [row[0] for row in rows]
    for name in ("`Trainer`", "hand-fed", "greedy", "beam 4", "second run", "`fit`"):
        assert any(name in x for x in what), name
    # PyTorch and transformers may be missing; everything else is measured.
    failed = [x for x, *_, remark in rows if remark.startswith("failed")]
    assert set(failed) <= {"torch.nn.Transformer", "language model in PyTorch", "Marian"}
    assert all(number(ms) > 0 for x, ms, *_ in rows if x not in failed)


@pytest.mark.slow
def test_a_table_of_results_has_a_row_per_run_with_all_seeds(tmp_path):
    code = "import results; results.main()"
    quick = ["--flags", "--recipe", "tiny", "--epochs", "1", "--n-sentences", "200"]
    arguments = ["default", "--seeds", "3", "--runs", str(tmp_path), *quick]
    output = run_code(code, *arguments, KERAS_BACKEND="tensorflow")
    ((label, *results),) = table_rows(output)
    assert label == "default run" and len(results) == 8  # seconds, loss, and six scores
    for cell in results:
        value, mean = map(float, cell.split(";"))
        assert value == mean >= 0
    assert "keras_transformer 0." in output.splitlines()[-1]
    assert {path.name for path in tmp_path.glob("default*")} == {"default-0-3"}


@pytest.mark.parity
def test_training_benchmark_runs_all_systems():
    code = "import training; training.main()"
    arguments = ["--recipe", "tiny", "--updates", "3", "--rounds", "1"]
    rows = table_rows(run_code(code, *arguments, KERAS_BACKEND="tensorflow"))
    names = [" ".join(row[0].split()[:3]) for row in rows]
    ours = ["keras_transformer", "keras_transformer on PyTorch", "keras_transformer, step only"]
    assert names == [*ours, "torch.nn.Transformer", "KerasHub layers, model.fit"]
    for _, speed, ratio, _, _, faults, peak in rows:
        assert number(speed) > 0 and number(ratio) > 0 and number(peak) > 0
        assert number(faults) >= 0
    assert number(rows[3][2]) == 1  # torch is the reference


@pytest.mark.parity
def test_language_model_benchmark_runs_both_systems():
    code = "import llama; llama.main()"
    quick = ["--size", "tiny", "--dtypes", "float32", "--prompt", "5", "--tokens", "4"]
    rows = table_rows(run_code(code, *quick, "--rounds", "1", KERAS_BACKEND="tensorflow"))
    assert [row[0].split(",")[0] for row in rows] == ["keras_transformer", "transformers"]
    assert all(number(row[2]) > 0 and row[4] == "100%" for row in rows)
