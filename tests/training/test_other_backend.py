"""A run that changes its backend between epochs has the losses of one that does not."""

import numpy as np
import pytest
from other_backends import other_backends, run_on
from tiny import make_batches, make_dataset, make_trainer

EPOCHS = 5
START = f"""
import sys
from tiny import make_batches, make_dataset, make_trainer
dataset = make_dataset()
for folder, epochs in zip(sys.argv[1:], ({EPOCHS}, 2)):
    make_trainer(dataset, folder, rate=0.0).train(*make_batches(dataset), epochs)
"""


@pytest.mark.slow
@other_backends
def test_a_run_resumed_on_another_backend_has_the_same_losses(tmp_path, other):
    stayed, moved = tmp_path / "stayed", tmp_path / "moved"
    run_on(other, START, stayed, moved)
    dataset = make_dataset()
    trainer = make_trainer(dataset, moved, rate=0.0)
    history, _ = trainer.train(*make_batches(dataset), EPOCHS)
    expected = make_trainer(dataset, stayed).run.read_history()
    for name in ("validation_loss", "loss"):
        ours, theirs = ([row[name] for row in rows] for rows in (history, expected))
        assert len(ours) == EPOCHS and ours[-1] < ours[0]
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
