"""Weights sharded over devices: on JAX the same losses, elsewhere a refusal.

A process with four devices imports this module and calls `report`.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer import (
    Adam,
    BlockSettings,
    PrepareDataset,
    RunConfig,
    Trainer,
    TransformerModel,
    Translate,
    train_run,
)
from keras_transformer.backends import backend_module

pytestmark = pytest.mark.every_backend
ON_JAX = keras.config.backend() == "jax"
on_jax = pytest.mark.skipif(not ON_JAX, reason="only JAX shards weights")
V = 48
EPOCHS = 3  # of seven updates
SETTINGS = BlockSettings(h=4, d_model=32, d_ff=64, n=1, rate=0.0, norm_first=True)


class Watched:
    """Batches that note the bytes of the first device while they are read.

    Args:
        batches: the batches.
    """

    def __init__(self, batches):
        self._batches, self.most = batches, 0

    def __len__(self):
        return len(self._batches)

    def __getitem__(self, index):
        if index >= 4:  # two batches are read in advance
            self.most = max(self.most, live_bytes())
        return self._batches[index]

    def set_epoch(self, epoch):
        self._batches.set_epoch(epoch)


def live_bytes():
    """Returns the bytes of all arrays on the first device."""
    import jax

    while True:  # another thread deletes arrays meanwhile
        with contextlib.suppress(RuntimeError, TypeError):
            shards = [x.addressable_shards[0] for x in jax.live_arrays()]
            return sum(x.data.nbytes for x in shards if x.device == jax.devices()[0])


def train(folder, size=1, epochs=EPOCHS):
    """Trains, or resumes, with `size` devices for the weights.

    Returns:
        The trainer, its losses, and the largest number of bytes of the first device.
    """
    pairs = [(f"the number {i} is here", f"die Zahl {i} ist hier") for i in range(64)]
    dataset = PrepareDataset(tokenizer="bpe", vocab_size=V, share_vocabulary=True)(pairs)
    keras.utils.set_random_seed(0)
    with backend_module().distribution(size) as scope:
        with scope():
            model = TransformerModel(V, V, settings=SETTINGS)
            model.build(((None, None), (None, None)))
            optimizer = Adam(1e-3, use_ema=True, global_clipnorm=0.5)
            trainer = Trainer(model, optimizer, folder, dataset=dataset)
        batches = Watched(dataset.batches(dataset.train, 8, seed=1))
        history, _ = trainer.train(batches, dataset.batches(dataset.validation, 8), epochs)
    return trainer, [[row["loss"], row["validation_loss"]] for row in history], batches.most


def report(folder):
    """Prints, as JSON, what trainings with four devices found."""
    losses, most = {}, {}
    for epochs, size in enumerate((4, 2, 1, 4), start=1):  # resumed with another size each time
        trainer, *found = train(f"{folder}/resumed", size, min(epochs, EPOCHS))
        losses["resumed"], most[epochs] = found
    for size in (1, 2):
        losses[size] = train(f"{folder}/{size}", size)[1]
    model = trainer.model
    variables = [*model.variables, *trainer.optimizer.variables]
    found = {
        "losses": losses,
        "share": most[1] / sum(x.value.nbytes for x in variables),
        "specs": {x.path.partition("/")[2]: tuple(x.value.sharding.spec) for x in model.weights},
        "program": _program(model),
        "text": Translate.from_run(f"{folder}/resumed")("the number 7 is here"),
        "sharded text": Translate(model, *[trainer.dataset.source_tokenizer] * 2)(
            "the number 7 is here"
        ),
    }
    print("\n" + json.dumps(found))


def _program(model):
    """Returns the compiled forward pass of a batch of 4 times 6 tokens as text."""
    import jax

    ids = np.ones((4, 6), "int32")
    forward = jax.jit(lambda *values: model.stateless_call(*values, (ids, ids))[0])
    groups = (model.trainable_variables, model.non_trainable_variables)
    return forward.lower(*([x.value for x in y] for y in groups)).compile().as_text()


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    here, folder = Path(__file__).parent, tmp_path_factory.mktemp("sharded")
    process = subprocess.run(
        [sys.executable, "-c", f"import test_model_parallel as t; t.report({str(folder)!r})"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (here, here.parent))),
            "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} "
            "--xla_force_host_platform_device_count=4",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return json.loads(process.stdout.splitlines()[-1])


@on_jax
@pytest.mark.slow
def test_losses_equal_those_of_one_device(found, tmp_path):
    _, expected, _ = train(tmp_path)
    for losses in found["losses"].values():
        np.testing.assert_allclose(losses, expected, atol=1e-5)


@on_jax
@pytest.mark.slow
def test_heads_hidden_units_and_words_are_sharded(found):
    """Any layout gives the same numbers, so the axes are compared one by one."""
    expected = {"kernel": (None, "model"), "bias": ("model",)}
    whole = {"kernel": ("model", None), "bias": (None,)}
    for path, spec in found["specs"].items():
        *_, part, name = path.split("/")
        if "norm" in path:
            axes = (None,)
        elif part in ("output_projection", "outer"):
            axes = whole[name]
        else:
            axes = expected.get(name, ("model", None))  # embeddings
        assert tuple(spec) == axes, path
    assert 0.2 < found["share"] < 0.35  # while training, with a few batches


@on_jax
@pytest.mark.slow
def test_only_sums_of_activations_are_exchanged(found):
    """One for each embedding, attention layer and feed-forward network; no weight is gathered."""
    exchanges = re.findall(r"= (.*?) (all-\w+|collective-\w+|reduce-scatter)\(", found["program"])
    assert {name for _, name in exchanges} == {"all-reduce"}
    shapes = [shape for shapes, _ in exchanges for shape in re.findall(r"\[([\d,]+)\]", shapes)]
    assert shapes == ["4,6,32"] * 7


@on_jax
@pytest.mark.slow
def test_translates_from_a_run_and_with_sharded_weights(found):
    assert found["text"] == found["sharded text"]


@on_jax
@pytest.mark.parametrize(
    ("settings", "size", "message"),
    (
        ({"h": 4}, 3, "multiples of 3.*h 4, d_ff 256, source vocabulary"),
        ({"model": "luong"}, 2, "for Transformers.*model=luong"),
    ),
    ids=str,
)
def test_uneven_sizes_are_named(tmp_path, settings, size, message):
    with pytest.raises(ValueError, match=message):
        train_run(RunConfig(n_sentences=200, **settings), tmp_path, model_parallel=size)
    assert not list(tmp_path.iterdir())


def test_too_many_devices_are_refused():
    message = "multiple of --model-parallel.*: 512 of" if ON_JAX else "KERAS_BACKEND=jax.*: 512 on"
    with pytest.raises(ValueError, match=message), backend_module().distribution(512):
        pass
