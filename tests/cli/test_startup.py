"""What a user sees on standard error before a command does its work."""

import os
import subprocess
import sys

import keras
import pytest
from run_script import SCRIPTS
from translating import write_run

LOADING = "Loading run, engine auto; the first translation takes a few more seconds.\n"


@pytest.mark.slow
@pytest.mark.parametrize("level", [None, "0"])
def test_start_up_lines_of_the_backend_are_shown_only_if_asked_for(tmp_path, level):
    write_run(tmp_path / "run")
    environment = {k: x for k, x in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    if level is not None:
        environment["TF_CPP_MIN_LOG_LEVEL"] = level
    done = subprocess.run(
        [sys.executable, SCRIPTS / "translate.py", "run", "one"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    shown = level is not None and keras.config.backend() == "tensorflow"
    assert (done.stderr != LOADING) == shown
    assert done.stderr.startswith(LOADING)
    assert done.stdout.strip()


@pytest.mark.slow
def test_if_the_backend_cannot_be_imported_its_messages_are_shown(tmp_path):
    (tmp_path / "tensorflow.py").write_text(
        "import os; os.write(2, b'I0000 1.2 3 x.cc:4] no\\n')\n1/0"
    )
    code = "from keras_transformer.cli.startup import import_backend; import_backend()"
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "PYTHONPATH": str(tmp_path)}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert "x.cc:4] no" in done.stderr and "ZeroDivisionError" in done.stderr
