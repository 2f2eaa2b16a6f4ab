"""train_vit.py as a user runs it."""

import os
import re

import keras
import numpy as np
import pytest
from run_script import run_script

datasets = pytest.importorskip("sklearn.datasets")


@pytest.mark.slow
def test_a_short_training_beats_chance_and_writes_its_files(tmp_path):
    printed = run_script("train_vit.py", "--epochs", 10, folder=tmp_path)
    accuracies = re.findall(r"(\d+)x\1: accuracy ([\d.]+)%, \d+ s", printed)
    assert [side for side, _ in accuracies] == ["8", "16"]
    assert all(float(accuracy) > 30 for _, accuracy in accuracies), printed
    files = ["filters.png", "positions.png", "vit.keras", "vit_16x16.keras"]
    assert sorted(os.listdir(tmp_path / "runs/digits")) == files
    tuned = keras.models.load_model(tmp_path / "runs/digits/vit_16x16.keras")
    assert tuned(np.zeros((1, 16, 16, 1))).shape == (1, 10)


@pytest.mark.exhaustive
def test_a_full_training_reaches_96_percent_accuracy(tmp_path):
    """Of 899 digits. The accuracy varies by half a point between seeds and processors."""
    printed = run_script("train_vit.py", folder=tmp_path)
    small, large = re.findall(r"accuracy ([\d.]+)%", printed)
    assert float(small) >= 96 and float(large) >= 96, printed
