"""forecast.py as a user runs it."""

import re

import numpy as np
import pytest
from run_script import refusal, run_script
from shared_data import shared


@pytest.mark.slow
def test_sunspot_errors_are_at_most_the_published_ones(tmp_path):
    """Takes the median of three runs, because a single one depends on its initial weights."""
    errors = []
    for seed in range(3):
        flags = ["--csv", shared("monthly-sunspots.csv"), "--seed", seed]
        output = run_script("forecast.py", *flags, folder=tmp_path)
        parameters, training, test = output.splitlines()
        assert parameters == "19 parameters"
        assert training.startswith("training: 187 windows, ")
        assert test.startswith("test: 46 windows, ")
        errors.append([float(x) for x in re.findall(r"RMSE ([\d.]+)", output)])
        simple = re.findall(r"\(like the last value: [\d.]+, ([\d.]+)\)", output)
        assert simple == ["0.063", "0.080"]  # as published
    training, test = np.median(errors, axis=0)
    assert training <= 0.058
    assert test <= 0.077


@pytest.mark.slow
def test_fibonacci_numbers_are_generated_and_forecast(tmp_path):
    output = run_script("forecast.py", "--attention", "--epochs", 1, folder=tmp_path)
    assert output.startswith("33 parameters\ntraining: 826 windows, ")
    assert "\ntest: 354 windows, " in output
    assert len(re.findall(r" MSE [\d.e-]+, RMSE 0\.\d+ \(like ", output)) == 2


@pytest.mark.slow
def test_column_and_model_size_can_be_chosen(tmp_path):
    lines = ["t,x,y", *(f"{t},{t % 5},{t % 3}" for t in range(99))]
    (tmp_path / "file.csv").write_text("\n".join(lines))
    flags = ["--column", "x", "--steps", 5, "--units", 4, "--epochs", 2, "--seed", 1]
    plot = ["--plot", "test.svg"]
    output = run_script("forecast.py", "--csv", "file.csv", *flags, *plot, folder=tmp_path)
    assert output.startswith("29 parameters\ntraining: 15 windows, ")
    assert output.endswith("wrote test.svg\n")
    assert "<!-- predicted -->" in (tmp_path / "test.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--csv", "file.csv", "--column", "z"], "choose one of ['t', 'x']. Received: 'z'"),
        (["--csv", "file.csv"], "longer than a window of 12"),
        (["--column", "x"], "--column and --data-limits require --csv"),
        (["--plot", "test.txt"], "Give an image file, such as plot.png, .svg or .pdf"),
        (["--units", "-1"], "--units: must be an integer from 1 to 65536. Received: -1"),
        (["--steps", "0"], "--steps: must be an integer from 1 to 65536. Received: 0"),
    ],
)
def test_invalid_arguments_are_refused(tmp_path, flags, message):
    (tmp_path / "file.csv").write_text("t,x\n1,2\n2,3\n")
    assert message in refusal("forecast.py", *flags, folder=tmp_path)
