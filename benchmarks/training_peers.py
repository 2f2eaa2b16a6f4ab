"""One system trains for some updates and says what they cost, in a process of its own.

`benchmarks/training.py` starts it: python training_peers.py SYSTEM TASK. TASK is JSON: `config`,
the settings of the run; `updates`, the number that is measured; `folder`, for files of this system;
`prepared`, the folder of the system "prepare".
The last line of its output is JSON as well.
"""

import functools
import itertools
import json
import resource
import sys
import time
from pathlib import Path

from timing import use_one_core

WARM_UP = 12  # updates before those that are measured: the graph is traced, the memory is there
BATCHES = "batches.npz"  # of the folder `prepared`, which systems without Keras read
SIDES = ("source", "target")


class Usage:
    """What the process uses for some updates, after `WARM_UP` others, and their target tokens.

    Args:
        updates: number of updates to measure.
    """

    def __init__(self, updates):
        self._end = WARM_UP + updates
        self._marks = []
        self._tokens = 0

    def begin(self, index):
        """Is called when an update begins."""
        if index in (WARM_UP, self._end):
            used = resource.getrusage(resource.RUSAGE_SELF)
            self._marks.append((used.ru_utime, used.ru_stime, time.perf_counter(), used.ru_minflt))

    def count(self, index, tokens):
        """Counts the target tokens of an update."""
        if WARM_UP <= index < self._end:
            self._tokens += tokens

    def result(self):
        """A dictionary of seconds, page faults, tokens, and the greatest memory in GiB."""
        used = [after - before for before, after in zip(*self._marks, strict=True)]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        names = ("user", "system", "wall", "faults", "tokens", "peak")
        return dict(zip(names, (*used, self._tokens, peak), strict=True))


class Meter:
    """Batches that note what the process has used when some of them are taken.

    Args:
        batches: has a length and items `((source, target_input), target)`.
        updates: number of batches to measure; with those before and after, so many are offered.
    """

    def __init__(self, batches, updates):
        self._batches = batches
        self._length = WARM_UP + updates + 1
        self._usage = Usage(updates)
        if len(batches) < self._length:
            raise ValueError(
                f"The data is too short: {len(batches)} batches, of {self._length} that are needed."
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
        """What the measured updates used: a dictionary."""
        return self._usage.result()


def read_data(task):
    """Reads the pairs as `train.py` does: `RunConfig`, dataset, training and validation batches."""
    from keras_transformer.runs.config import RunConfig
    from keras_transformer.training.run import make_batches, prepare_dataset

    config = RunConfig(**task["config"])
    dataset = prepare_dataset(config)
    return config, dataset, *make_batches(config, dataset)


def prepare(task):
    """Writes the batches for systems that know neither Keras nor our tokenizers, and the pieces."""
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


def train_ours(task):
    """The public loop, from a file."""
    from keras_transformer.training.process import tune_process

    tune_process()
    from keras_transformer import Trainer

    config, _, batches, validation, model, optimizer = _make_ours(task)
    meter = Meter(batches, task["updates"])
    trainer = Trainer(model, optimizer, Path(task["folder"], "run"), config.label_smoothing)
    trainer.train(meter, validation, epochs=1)
    return meter.result()


def train_step_alone(task):
    """The step on batches that are ready: what the loop adds to it is not there."""
    from keras_transformer.training.process import tune_process

    tune_process()
    import tensorflow as tf

    from keras_transformer.backends import backend_module
    from keras_transformer.data.accumulation import with_words
    from keras_transformer.objectives.metrics import loss_and_totals

    config, _, batches, _, model, optimizer = _make_ours(task)
    optimizer.build(model.trainable_variables)
    loss = functools.partial(loss_and_totals, label_smoothing=config.label_smoothing)
    step = backend_module().TrainingStep(model, optimizer, loss)
    ready = [tf.nest.map_structure(tf.constant, batch) for batch in with_words(batches)]
    meter = Meter([batches[i] for i in range(len(batches))], task["updates"])
    for index in range(len(meter)):
        meter[index]
        step._train_batch(*ready[index])
    return meter.result()


def _make_ours(task):
    import keras

    from keras_transformer.runs.folder import make_model
    from keras_transformer.training.run import make_optimizer

    config, dataset, batches, validation = read_data(task)
    keras.utils.set_random_seed(config.seed)
    tokenizers = dataset.source_tokenizer, dataset.target_tokenizer
    model = make_model(config, *tokenizers, config.dtype)
    return config, dataset, batches, validation, model, make_optimizer(config, config.dtype)


def train_hub(task):
    """KerasHub's layers by `model.fit`, as it is used: with a dataset free of page faults."""
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
    """`torch.nn.Transformer` with a DataLoader over the same batches, without their empty rows."""
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
    """JoeyNMT's own command on the same pieces and sizes, in batches of its own."""
    from joeynmt.__main__ import main as joeynmt
    from joeynmt.batch import Batch

    usage, indices = Usage(task["updates"]), itertools.count()
    normalize = Batch.normalize  # is called once for each batch

    def noted(batch, *arguments, **keywords):
        index = next(indices)
        usage.begin(index)
        usage.count(index, int(batch.ntokens))
        return normalize(batch, *arguments, **keywords)

    Batch.normalize = noted
    path = Path(task["folder"], "joeynmt.yaml")
    path.write_text(json.dumps(_joeynmt_config(task)))  # JSON is YAML as well
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
    "its step alone, fed by hand (an upper bound)": train_step_alone,
    "torch.nn.Transformer": train_torch,
    "KerasHub layers, fit": train_hub,
    "JoeyNMT": train_joeynmt,
}


def main():
    system, task = sys.argv[1:]
    use_one_core()
    run = {"prepare": prepare, **SYSTEMS}[system]
    print(json.dumps(run(json.loads(task))))


if __name__ == "__main__":
    main()
