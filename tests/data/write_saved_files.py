"""Saves runs and models of this version, which later versions must be able to load.

    KERAS_BACKEND=tensorflow python tests/data/write_saved_files.py

Run it once per version that changes a saved format, before the change. The folder is named after
the version. An existing folder is never replaced, because only the version that wrote it can
recreate it.
"""

import json
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE.parent)]

from tiny import PAIRS, CallAt  # noqa: E402

import keras_transformer as kt  # noqa: E402
from keras_transformer.backends import backend_module  # noqa: E402
from keras_transformer.runs.folder import build_run_model  # noqa: E402
from keras_transformer.training.run import make_optimizer, number_of_updates  # noqa: E402

SIZES = {"d_model": 32, "h": 2, "d_ff": 64, "n": 1, "max_length": 8, "dtype": "float32"}
SHORT = {"batch_size": 16, "warmup_steps": 60, "learning_rate_scale": 0.3, "rate": 0.0}
RUNS = {
    "words": {"epochs": 25},
    "bpe_ema": {
        "epochs": 25, "tokenizer": "bpe", "vocab_size": 60, "share_vocabulary": True, "ema": 0.9,
    },
    "bahdanau": {"epochs": 25, "model": "bahdanau", "learning_rate_scale": 1.0},
}  # fmt: skip
MID_EPOCH = {"epochs": 3, "rate": 0.1}
SENTENCES = ["one", "two three", "five four one", "three three two one"]
# Files of a run that later versions need not load.
EXCLUDED = ("curves.png", "checkpoints/0*")

BLOCK = kt.BlockSettings(h=2, d_k=3, d_v=5, d_model=8, d_ff=16, n=2)
SOURCE = np.array([[4, 5, 6, 7, 8, 9], [10, 9, 4, 3, 0, 0]], "int32")
TARGET_INPUT = np.array([[2, 5, 7, 9, 11], [2, 12, 4, 0, 0]], "int32")
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0]], "int32")


def main():
    folder = HERE / f"saved_by_{kt.__version__}"
    if folder.exists():
        raise SystemExit(f"{folder} already exists.")
    backend_module().make_deterministic()
    with tempfile.TemporaryDirectory() as temporary:
        new = Path(temporary)
        kt.write_pairs(new / "numbers.tsv", PAIRS)
        expected = {name: write_run(new, name, options) for name, options in RUNS.items()}
        expected["mid_epoch"] = write_mid_epoch(new)
        write_models(new)
        expected["written_by"] = {"backend": keras.config.backend(), "keras": keras.__version__}
        text = json.dumps(expected, indent=1, ensure_ascii=False) + "\n"
        (new / "expected.json").write_text(text, encoding="utf-8")
        shutil.copytree(new, folder)


def make_config(folder, **options):
    return kt.RunConfig(**{**SIZES, **SHORT, "data": str(folder / "numbers.tsv"), **options})


def write_run(folder, name, options):
    """Trains a run and returns its translations and their scores."""
    run = kt.RunFolder(folder / name)
    kt.train_run(make_config(folder, **options), run.path)
    run.write_config(make_config(Path(), **options))  # without the temporary path
    for pattern in EXCLUDED:
        for path in run.path.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return translations(run.path)


def translations(run):
    translate = kt.Translate.from_run(run)
    found = {}
    for beam in (1, 4):
        for sentence, [best] in zip(
            SENTENCES, translate.hypotheses(SENTENCES, beam_size=beam), strict=True
        ):
            found.setdefault(sentence, {})[str(beam)] = [best.text, round(best.score, 5)]
    return found


def write_mid_epoch(folder):
    """Interrupts a run in its second epoch and returns the losses of the resumed run."""
    config, run = make_config(folder, **MID_EPOCH), kt.RunFolder(folder / "mid_epoch")
    keras.utils.set_random_seed(config.seed)
    dataset = kt.PrepareDataset(max_length=config.max_length)(PAIRS)
    run.create(config, dataset)
    model = build_run_model(config, (dataset.source_tokenizer, dataset.target_tokenizer))
    batches, validation = (
        dataset.batches(pairs, config.batch_size, seed)
        for pairs, seed in ((dataset.train, config.seed), (dataset.validation, None))
    )
    optimizer = make_optimizer(config, "float32", number_of_updates(config, batches))
    stop = CallAt(batches, 1, 4, lambda: signal.raise_signal(signal.SIGINT))
    trainer = kt.Trainer(model, optimizer, run.path, config.label_smoothing)
    _, interrupted = trainer.train(stop, validation, config.epochs)
    assert interrupted
    resumed = folder / "resumed"
    shutil.copytree(run.path, resumed)
    kt.train_run(config, resumed)
    history = kt.RunFolder(resumed).read_history()
    shutil.rmtree(resumed)
    run.write_config(make_config(Path(), **MID_EPOCH))
    return [{name: row[name] for name in ("loss", "validation_loss")} for row in history]


def write_models(folder):
    """Saves models with random weights, each with a file of its inputs and outputs."""
    body = kt.Bert(11, 8, BLOCK)
    models = {
        "transformer": (kt.TransformerModel(11, 13, settings=BLOCK), (SOURCE, TARGET_INPUT)),
        "classifier": (kt.EncoderClassifier(body, 3, "mean", 0.1), (SOURCE, SEGMENTS)),
        "bert": (kt.Bert(11, 8, BLOCK), (SOURCE, SEGMENTS)),
    }
    random = np.random.default_rng(0)
    for name, (model, inputs) in models.items():
        model(inputs)
        model.set_weights([random.normal(scale=0.5, size=w.shape) for w in model.weights])
        model.save(folder / f"{name}.keras")
        output = keras.ops.convert_to_numpy(model(inputs))
        np.savez(folder / f"{name}.npz", first=inputs[0], second=inputs[1], output=output)


if __name__ == "__main__":
    main()
