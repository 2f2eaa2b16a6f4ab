"""Prefetching: the same batches, the original errors, and no remaining thread."""

import os
import subprocess
import sys
import threading
import time

import keras
import pytest

from keras_transformer.data.prefetching import prefetched

# Trains for 50 steps with `Trainer` or `fit` on a file of pairs; the logits take 2 MB per step.
FIFTY_STEPS = """
import pathlib, resource, sys

from keras_transformer.training.process import tune_process
tune_process()
from keras_transformer import (
    Adam, BlockSettings, MaskedCrossEntropy, PrepareDataset, Trainer, TransformerModel, as_dataset
)
from keras_transformer.data.pairs import read_pairs
from tiny import CallAt

def page_faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

folder = pathlib.Path(sys.argv[1])
numbers = [[(7 * i + j * (1 + i // 1000)) % 1000 for j in range(6)] for i in range(4800)]
words = [" ".join(f"w{number}" for number in row) for row in numbers]
(folder / "pairs.tsv").write_text("".join(f"{text}\\t{text}\\n" for text in words))
dataset = PrepareDataset(seed=1)(read_pairs(folder / "pairs.tsv"))
sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
assert sizes[1] > 900, sizes
model = TransformerModel(*sizes, settings=BlockSettings(h=2, d_model=16, d_ff=32))
model.build(((None, None), (None, None)))
batches = dataset.batches(dataset.train, 64, seed=3)
assert len(batches) >= 50, len(batches)
counts = []

def counting_batches():
    batches.set_epoch(0)
    first = CallAt(batches, 0, 20, lambda: counts.append(page_faults()))
    return CallAt(first, 0, 49, lambda: counts.append(page_faults()))

validation = dataset.batches(dataset.validation[:64], 64)
if sys.argv[2] == "fit":
    model.compile(Adam(), MaskedCrossEntropy(), jit_compile=False)
    model.fit(as_dataset(counting_batches()), epochs=1, verbose=0)
else:
    Trainer(model, Adam(), folder / "run").train(counting_batches(), validation, 1)
print("page faults per step:", (counts[1] - counts[0]) // 29)
"""


def test_yields_the_same_items_in_the_same_order():
    assert list(prefetched(iter(range(20)))) == list(range(20))
    assert list(prefetched(iter(()))) == []


def test_prefetches_at_most_ahead_items():
    produced = []
    batches = prefetched((produced.append(i) or i for i in range(20)), ahead=3)
    for i in range(5):
        assert next(batches) == i
    time.sleep(0.1)
    assert produced == list(range(5 + 3))
    batches.close()


def test_errors_are_raised_in_order_and_unchanged():
    error = OSError("the disk is gone")

    def fail():
        yield 1
        yield 2
        raise error

    batches = prefetched(fail())
    assert [next(batches), next(batches)] == [1, 2]
    with pytest.raises(OSError, match="the disk is gone") as caught:
        next(batches)
    assert caught.value is error


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, ValueError])
def test_closing_ends_the_thread(error):
    before = set(threading.enumerate())
    batches = prefetched(iter(range(1000)))
    assert next(batches) == 0
    (thread,) = set(threading.enumerate()) - before
    if error is None:
        batches.close()
    else:
        with pytest.raises(error):
            batches.throw(error())
    assert not thread.is_alive()


@pytest.mark.slow
@pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="tests the allocator of TensorFlow"
)
@pytest.mark.skipif(sys.platform != "linux", reason="tests the allocator of glibc")
@pytest.mark.parametrize("loop", ["trainer", "fit"])
def test_memory_is_not_mapped_again_in_each_step(tmp_path, loop):
    """Counts page faults per step in a process set up like the scripts.

    Without this setup there are thousands. TensorFlow must not change the allocator either, as it
    does when `fit` is called on a generator; see docs/keras3.md.
    """
    here = os.path.dirname(__file__)
    path = os.pathsep.join([os.path.dirname(here), os.environ.get("PYTHONPATH", "")])
    variables = {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "0", "PYTHONPATH": path}
    process = subprocess.run(
        [sys.executable, "-c", FIFTY_STEPS, tmp_path, loop],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    assert "Memory patch applied" not in process.stderr
    assert int(process.stdout.split("page faults per step: ")[1]) < 200, process.stdout
