"""What every test begins with: quiet logs and the same random numbers."""

import os
import random

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def seed():
    # Keras draws the seeds of its initializers and dropouts from `random`. Its own
    # `set_random_seed` would import TensorFlow whatever the backend.
    random.seed(0)
    np.random.seed(0)
