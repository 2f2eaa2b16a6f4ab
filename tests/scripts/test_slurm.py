"""The Slurm job of docs/scale.md, with two processes of this machine and a program for Slurm's."""

import csv
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SLURM = {  # as far as the job uses it
    "scontrol": 'case $1 in show) echo 127.0.0.1 ;; requeue) touch "requeued" ;; esac',
    "srun": """shift
for SLURM_PROCID in 0 1; do export SLURM_PROCID; "$@" & echo $! >> pids; done
wait -n && wait -n || { kill -9 $(jobs -p); exit 1; }""",
}
FLAGS = "--n-sentences 300 --epochs 3 --n 1 --d-model 32 --d-ff 64 --batch-size 16 --dtype float32"
pytestmark = [
    pytest.mark.every_backend,
    pytest.mark.exhaustive,  # covered by the test of a lost process
    pytest.mark.skipif(keras.config.backend() != "jax", reason="the job is for JAX"),
]


@pytest.fixture
def job(tmp_path):
    """The job with the paths of this machine, and its environment."""
    document = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```sh\n(#!/bin/bash\n.*?)```", document, re.DOTALL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    train = f"{sys.executable} {ROOT / 'scripts' / 'train.py'}"
    for old, new in {
        "/shared/runs/wide": str(tmp_path / "run"),
        ":2222": f":{port}",
        "keras-transformer train": train,
        '"$run" $resume': f'"$run" {FLAGS} $resume',
    }.items():
        assert old in script
        script = script.replace(old, new)
    for name, text in SLURM.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "job").write_text(script, encoding="utf-8")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    slurm = {"SLURM_NTASKS": "2", "SLURM_JOB_NODELIST": "here", "SLURM_JOB_ID": "1"}
    slurm |= {"SLURM_STEP_NODELIST": "here", "SLURM_LOCALID": "0"}  # which JAX would read
    return {**os.environ, **slurm, "PATH": path}


def losses(run):
    with open(run / "history.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return np.array([[float(row[x]) for x in ("loss", "validation_loss")] for row in rows])


def test_a_killed_job_is_queued_again_and_ends_as_if_never_stopped(job, tmp_path):
    options = {"env": job, "cwd": tmp_path, "text": True}
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        options |= {"stdout": log, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(["bash", "job"], **options)
        while not (tmp_path / "run" / "history.csv").exists():
            assert process.poll() is None, (tmp_path / "log").read_text(encoding="utf-8")
            time.sleep(0.1)
        _, worker = (tmp_path / "pids").read_text(encoding="utf-8").split()
        os.kill(int(worker), signal.SIGKILL)
        process.wait(timeout=120)
        assert (tmp_path / "requeued").exists()
        assert len(losses(tmp_path / "run")) < 3
        subprocess.run(["bash", "job"], check=True, **options)
        command = [sys.executable, ROOT / "scripts" / "train.py", "--run", "one", *FLAGS.split()]
        subprocess.run(command, check=True, **options)
    found, expected = losses(tmp_path / "run"), losses(tmp_path / "one")
    np.testing.assert_allclose(found, expected, atol=1e-4)
