"""Hostile files, arguments and sentences are served or refused, never anything else."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_hostile_input_is_served_or_refused():
    command = [sys.executable, Path(__file__).with_name("run.py"), "--cases", "200", "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
