"""A training run from the corpus to the score."""

import dataclasses
import shlex
from pathlib import Path

import keras

from keras_transformer.backend import backend_module
from keras_transformer.data.dataset import PrepareDataset
from keras_transformer.data.pairs import read_pairs
from keras_transformer.evaluation import score
from keras_transformer.inference.translate import Translate
from keras_transformer.plotting import plot_losses
from keras_transformer.run_folder import RunFolder, make_model
from keras_transformer.training.schedules import WarmupSchedule
from keras_transformer.training.trainer import Trainer

_CHECKOUT = Path(__file__).resolve().parents[2]


def train_run(config, folder):
    """Trains what a `RunConfig` describes and leaves all of it in a folder.

    A run that the folder holds goes on from its last checkpoint. At the end it prints the score on
    the test part, some translations and what to do next.

    Args:
        config: a `RunConfig`.
        folder: path of the run's folder.

    Returns:
        The `Scores` on the test part, or None if Ctrl-C ended the training.

    Raises:
        FileNotFoundError, OSError: if a file cannot be read or written.
        ValueError: if the data does not suit, or the folder holds a run of something else.
        FloatingPointError: if the loss is no longer finite.
    """
    run = RunFolder(folder)
    if run.exists:
        config = run.read_config().with_changes(**dataclasses.asdict(config))
    dataset = _prepare(config)
    if run.exists:
        run.check_dataset(dataset)
    trainer = _make_trainer(config, run, dataset)  # before anything is written: it may refuse
    if run.exists:
        run.write_config(config)
    else:
        run.create(config, dataset)
    batches = dataset.batches(dataset.train, config.batch_size, seed=config.seed)
    print(
        f"{len(batches):,} batches of {config.batch_size} pairs and up to {max(batches.shapes)} "
        f"tokens, {batches.padding_share:.0%} padding"
    )
    validation = dataset.batches(dataset.validation, config.batch_size)
    history, interrupted = trainer.train(batches, validation, config.epochs)
    if history:
        plot_losses({run.path.name: history}, run.curves)
    if interrupted:
        folder = shlex.quote(str(run.path))
        print(f"Saved in {run.path}. Go on: python scripts/train.py --run {folder} --resume")
        return None
    return _report(run)


def _prepare(config):
    path = Path(config.data)
    if not path.exists() and (_CHECKOUT / path).exists():
        path = _CHECKOUT / path  # the embedded corpus, from whatever folder
    dataset = PrepareDataset(
        config.n_sentences,
        min_count=config.min_count,
        max_length=config.max_length,
        seed=config.seed,
    )(read_pairs(path))
    print(f"Corpus {path.name}\n{dataset}")
    return dataset


def _make_trainer(config, run, dataset):
    backend = backend_module()
    backend.make_deterministic()
    keras.utils.set_random_seed(config.seed)
    device = backend.describe_device()
    dtype = config.dtype
    if dtype == "auto":
        dtype = "mixed_bfloat16" if device.bfloat16 else "float32"
    model = make_model(config, dataset.source_tokenizer, dataset.target_tokenizer, dtype)
    print(
        f"Model with {model.count_params():,} parameters, {dtype}, "
        f"by {keras.config.backend()} on {device.name}\nRun in {run.path}"
    )
    schedule = WarmupSchedule(config.d_model, config.warmup_steps, config.learning_rate_scale)
    # "Attention Is All You Need", section 5.3
    optimizer = keras.optimizers.Adam(schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    return Trainer(model, optimizer, run.path, config.label_smoothing, config.patience)


def _report(run):
    """Scores what the folder holds and prints it as a user would see it."""
    scores, translations = evaluate_run(run.path)
    print(f"\nTest part, {len(translations):,} sentences\n{scores}\n")
    test = run.read_test()
    for (source, references), translation in zip(test[:10], translations[:10], strict=True):
        print(f"  {source}\n    → {translation}\n    = {' / '.join(references)}")
    folder = shlex.quote(str(run.path))
    print(
        f"\nThe curves are in {run.curves}. Next:\n"
        f"  python scripts/translate.py {folder} -- {shlex.quote(test[0][0])}\n"
        f"  python scripts/evaluate.py {folder}\n"
        f"  python scripts/plot_losses.py {folder}"
    )
    return scores


def evaluate_run(folder, **options):
    """Translates the test part of a run and compares with the references.

    Args:
        folder: path of the run's folder.
        **options: see `SearchOptions`; by default the search is greedy.

    Returns:
        The `Scores`, and the list of translations.
    """
    sources, references = zip(*RunFolder(folder).read_test(), strict=True)
    translations = Translate.from_run(folder)(list(sources), **options)
    return score(translations, references), translations
