"""Trains one system for a number of updates and prints what they cost.

`training.py` runs this module in a separate process: python training_peers.py SYSTEM TASK. TASK is
a JSON object with the fields

- `config`: the fields of the `RunConfig`
- `updates`: the number of updates to measure
- `folder`: a temporary folder for this system
- `prepared`: the folder in which the system "prepare" has written the batches

The last line of the output is a JSON object with the results.
"""

import functools
import itertools
import json
import os
import resource
import sys
import time
from pathlib import Path

from timing import use_one_core

WARM_UP = 12  # updates before the measured ones, for tracing and memory allocation
BATCHES = "batches.npz"  # in the folder `prepared`, for systems that do not use Keras
SIDES = ("source", "target")


class Usage:
    """Measures the resource usage and the target tokens of updates, after `WARM_UP` others.

    Args:
        updates: number of updates to measure.
    """

    def __init__(self, updates):
        self._end = WARM_UP + updates
        self._marks = []
        self._tokens = 0

    def begin(self, index):
        """Records the resource usage at the start of an update."""
        if index in (WARM_UP, self._end):
            used = resource.getrusage(resource.RUSAGE_SELF)
            self._marks.append((used.ru_utime, used.ru_stime, time.perf_counter(), used.ru_minflt))

    def count(self, index, tokens):
        """Adds the target tokens of an update."""
        if WARM_UP <= index < self._end:
            self._tokens += tokens

    def result(self):
        """Returns a dictionary of seconds, page faults, tokens, and peak memory in GiB."""
        used = [after - before for before, after in zip(*self._marks, strict=True)]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        names = ("user", "system", "wall", "faults", "tokens", "peak")
        return dict(zip(names, (*used, self._tokens, peak), strict=True))


class Meter:
    """Wraps batches to measure the resource usage while they are consumed.

    Args:
        batches: sequence of batches `((source, target_input), target)`.
        updates: number of batches to measure. The length is larger by the warm-up batches, and by
            one batch that ends the measurement.
    """

    def __init__(self, batches, updates):
        self._batches = batches
        self._length = WARM_UP + updates + 1
        self._usage = Usage(updates)
        if len(batches) < self._length:
            raise ValueError(
                f"The data must have at least {self._length} batches. Received: {len(batches)}"
            )

    def __getattr__(self, name):
        return getattr(self._batches, name)

    def __len__(self):
        return self._length

    def __getitem__(self, index):
        self._usage.begin(index)
        batch = self._batches[index]
        self._usage.count(index, int((batch[1] != 0).sum()))
        return batch

    def result(self):
        """Returns the result of `Usage.result`."""
        return self._usage.result()


def read_data(task):
    """Reads the data as `train.py` does.

    Returns:
        The `RunConfig`, the dataset, the training batches and the validation batches.
    """
    from keras_transformer.runs.config import RunConfig
    from keras_transformer.training.run import make_batches, prepare_dataset

    config = RunConfig(**task["config"])
    dataset = prepare_dataset(config)
    return config, dataset, *make_batches(config, dataset)


def prepare(task):
    """Writes the batches as arrays and the pairs as subwords, for systems without Keras."""
    import numpy as np

    config, dataset, batches, _ = read_data(task)
    arrays = {"words": [x.vocab_size for x in (dataset.source_tokenizer, dataset.target_tokenizer)]}
    for i in range(min(len(batches), WARM_UP + task["updates"] + 1)):
        (source, target_input), target = batches[i]
        arrays |= {f"source{i}": source, f"input{i}": target_input, f"target{i}": target}
    folder = Path(task["folder"])
    np.savez(folder / BATCHES, **arrays)
    tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
    pieces = {
        f"{part}.{SIDES[side]}": [tokenizer.tokenize(pair[side]) for pair in pairs]
        for part, pairs in (("train", dataset.train), ("validation", dataset.validation))
        for side, tokenizer in enumerate(tokenizers)
    }
    for name, lines in pieces.items():
        _write_lines(folder / name, map(" ".join, lines))
    for side in SIDES:
        used = SIDES if config.share_vocabulary else (side,)
        words = {piece for x in used for line in pieces[f"train.{x}"] for piece in line}
        _write_lines(
            folder / f"vocabulary.{side}", ["<unk>", "<pad>", "<s>", "</s>", *sorted(words)]
        )
    return {}


def _write_lines(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def train_ours(task, backend=None):
    """Trains with `Trainer`; on the backend of this process if none is given."""
    if backend:
        os.environ["KERAS_BACKEND"] = backend
    from keras_transformer.training.process import tune_process

    tune_process()
    from keras_transformer import Trainer

    config, _, batches, validation, model, optimizer = _make_ours(task)
    meter = Meter(batches, task["updates"])
    trainer = Trainer(model, optimizer, Path(task["folder"], "run"), config.label_smoothing)
    trainer.train(meter, validation, epochs=1)
    return meter.result()


def train_step_alone(task):
    """Runs only the training step, on prepared tensors, without the training loop."""
    from keras_transformer.training.process import tune_process

    tune_process()
    import tensorflow as tf

    from keras_transformer.backends import backend_module
    from keras_transformer.data.accumulation import with_token_counts
    from keras_transformer.objectives.metrics import loss_and_totals

    config, _, batches, _, model, optimizer = _make_ours(task)
    optimizer.build(model.trainable_variables)
    loss = functools.partial(loss_and_totals, label_smoothing=config.label_smoothing)
    step = backend_module().TrainingStep(model, optimizer, loss)
    tensors = [tf.nest.map_structure(tf.constant, batch) for batch in with_token_counts(batches)]
    meter = Meter([batches[i] for i in range(len(batches))], task["updates"])
    for index in range(len(meter)):
        meter[index]
        step._train_batch(*tensors[index])
    return meter.result()


def _make_ours(task):
    import keras

    from keras_transformer.runs.folder import build_run_model
    from keras_transformer.training.run import make_optimizer, number_of_updates

    config, dataset, batches, validation = read_data(task)
    keras.utils.set_random_seed(config.seed)
    tokenizers = dataset.source_tokenizer, dataset.target_tokenizer
    model = build_run_model(config, tokenizers, config.dtype)
    optimizer = make_optimizer(config, config.dtype, number_of_updates(config, batches))
    return config, dataset, batches, validation, model, optimizer


def train_hub(task):
    """Trains KerasHub layers with `model.fit`."""
    from keras_transformer.training.process import tune_process

    tune_process()
    import keras
    from hub_model import HubModel

    from keras_transformer import as_dataset

    config, dataset, batches, _ = read_data(task)
    keras.config.set_dtype_policy(config.dtype)
    meter = Meter(batches, task["updates"])
    words = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    length = max(batches.shapes)
    model = HubModel(config, words, length, config.rate, config.share_vocabulary, padding=True)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    model.compile(keras.optimizers.Adam(1e-4), loss, jit_compile=False)
    model.fit(as_dataset(meter), epochs=1, verbose=0)
    return meter.result()


def train_torch(task):
    """Trains `torch.nn.Transformer` with a `DataLoader` on the same batches."""
    import numpy as np
    import torch
    from torch_model import TorchModel, to_tensors, update

    from keras_transformer.runs.config import RunConfig

    torch.set_num_threads(1)
    config = RunConfig(**task["config"])

    class Batches:
        def __init__(self):
            arrays = np.load(Path(task["prepared"]) / BATCHES)
            self.words = arrays["words"].tolist()
            self.items = [
                ((arrays[f"source{i}"], arrays[f"input{i}"]), arrays[f"target{i}"])
                for i in range((len(arrays) - 1) // 3)
            ]

        def __len__(self):
            return len(self.items)

        def __getitem__(self, index):
            return self.items[index]

    batches = Batches()
    meter = Meter(batches, task["updates"])
    loader = torch.utils.data.DataLoader(meter, batch_size=None, collate_fn=to_tensors)
    length = max(source.shape[1] for (source, _), _ in batches.items)
    model = TorchModel(config, batches.words, length, config.rate, config.share_vocabulary).train()
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    loss = torch.nn.CrossEntropyLoss(ignore_index=0, label_smoothing=config.label_smoothing)
    bfloat16 = config.dtype == "mixed_bfloat16"
    for tensors in loader:
        update(model, optimizer, loss, tensors, bfloat16)
    return meter.result()


def train_joeynmt(task):
    """Trains with the command of JoeyNMT, with the same subwords and sizes, but its own batches."""
    from joeynmt.__main__ import main as joeynmt
    from joeynmt.batch import Batch

    usage, indices = Usage(task["updates"]), itertools.count()
    normalize = Batch.normalize  # JoeyNMT calls this once per batch

    def measured(batch, *arguments, **keywords):
        index = next(indices)
        usage.begin(index)
        usage.count(index, int(batch.ntokens))
        return normalize(batch, *arguments, **keywords)

    Batch.normalize = measured
    path = Path(task["folder"], "joeynmt.yaml")
    path.write_text(json.dumps(_joeynmt_config(task)))  # JSON is valid YAML
    sys.argv = ["joeynmt", "train", str(path), "--skip-test"]
    joeynmt()
    return usage.result()


def _joeynmt_config(task):
    config, prepared = task["config"], Path(task["prepared"])
    by_tokens = config["batch_tokens"] is not None
    embeddings = {"embedding_dim": config["d_model"], "scale": True, "dropout": config["rate"]}
    half = {
        "type": "transformer", "num_layers": config["n"], "num_heads": config["h"],
        "hidden_size": config["d_model"], "ff_size": config["d_ff"], "dropout": config["rate"],
        "layer_norm": "pre", "embeddings": embeddings,
    }  # fmt: skip
    side = {"level": "word", "lowercase": False, "max_length": 128}
    return {
        "name": "benchmark", "joeynmt_version": "2.3.0", "use_cuda": False,
        "random_seed": config["seed"], "model_dir": str(Path(task["folder"], "joeynmt")),
        "data": {
            "train": str(prepared / "train"), "dev": str(prepared / "validation"),
            "dataset_type": "plain",
            "src": {"lang": "source", "voc_file": str(prepared / "vocabulary.source"), **side},
            "trg": {"lang": "target", "voc_file": str(prepared / "vocabulary.target"), **side},
        },
        "testing": {},
        "training": {
            "optimizer": "adam", "scheduling": "noam", "normalization": "tokens",
            "batch_type": "token" if by_tokens else "sentence",
            "batch_size": config["batch_tokens"] if by_tokens else config["batch_size"],
            "label_smoothing": config["label_smoothing"], "epochs": 100,
            "updates": WARM_UP + task["updates"] + 1, "overwrite": True,
            "logging_freq": 10_000, "validation_freq": 10_000,
        },
        "model": {
            "tied_embeddings": config["share_vocabulary"], "tied_softmax": True,
            "encoder": half, "decoder": half,
        },
    }  # fmt: skip


SYSTEMS = {
    "keras_transformer": train_ours,
    "keras_transformer on PyTorch": functools.partial(train_ours, backend="torch"),
    "keras_transformer, step only (upper bound)": train_step_alone,
    "torch.nn.Transformer": train_torch,
    "KerasHub layers, model.fit": train_hub,
    "JoeyNMT": train_joeynmt,
}


def main():
    system, task = sys.argv[1:]
    use_one_core()
    run = {"prepare": prepare, **SYSTEMS}[system]
    print(json.dumps(run(json.loads(task))))


if __name__ == "__main__":
    main()
