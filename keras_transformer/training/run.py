"""A training run from the corpus to the score."""

import dataclasses
import shlex
from pathlib import Path

import keras

from keras_transformer._utils.checks import check_choice
from keras_transformer.backends import backend_module
from keras_transformer.data.corpus import corpus_path
from keras_transformer.data.dataset import PrepareDataset
from keras_transformer.data.pairs import read_pairs
from keras_transformer.evaluation import TOKENIZERS, score
from keras_transformer.inference.translate import Translate
from keras_transformer.objectives.optimizer import Adam
from keras_transformer.objectives.schedules import WarmupSchedule
from keras_transformer.plotting import plot_losses
from keras_transformer.runs.config import LEARNING_RATE_SCALES
from keras_transformer.runs.folder import RunFolder, make_model
from keras_transformer.training.tensorboard import tensorboard_writer
from keras_transformer.training.trainer import Trainer


def train_run(config, folder):
    """Trains what a `RunConfig` describes and leaves all of it in a folder.

    A run that the folder holds goes on from its last checkpoint. At the end it prints the score on
    the test part, some translations and what to do next.

    Args:
        config: a `RunConfig`.
        folder: path of the run's folder.

    Returns:
        The `Scores` on the test part, or None if Ctrl-C ended the training, or if this is one of
        several processes and not the one that writes.

    Raises:
        FileNotFoundError, OSError: if a file cannot be read or written.
        ConnectionError: if this is one of several processes and another one is lost.
        ValueError: if the data does not suit, or the folder holds a run of something else.
        FloatingPointError: if the loss is no longer finite.
    """
    run = RunFolder(folder)
    begun = run.exists
    if begun:
        config = run.read_config().with_changes(**dataclasses.asdict(config))
    dataset = prepare_dataset(config, run.read_tokenizers() if begun else None)
    if begun:
        run.check_dataset(dataset)
    # Several processes have all read the folder when they join, and only then one of them writes,
    # its trainer.
    with backend_module().distribution() as scope:
        with scope():
            trainer = _make_trainer(config, run, dataset)
        batches = make_batches(config, dataset, run.read_block_stats() if begun else None)
        history, interrupted = trainer.train(*batches, config.epochs)
    if not trainer.chief:
        return None
    if history:
        plot_losses({run.path.name: history}, run.curves)
    if interrupted:
        folder = shlex.quote(str(run.path))
        print(f"Saved in {run.path}. Go on: python scripts/train.py --run {folder} --resume")
        return None
    return _report(run)


def prepare_dataset(config, tokenizers=None):
    """Reads and prepares the sentence pairs of a run, and prints what they are.

    Args:
        config: a `RunConfig`.
        tokenizers: those of source and target, if the run has some: then a streamed file is not
            read for them again.

    Returns:
        A `PreparedDataset`.
    """
    prepare = PrepareDataset(
        config.n_sentences,
        min_count=config.min_count,
        max_length=config.max_length,
        seed=config.seed,
        tokenizer=config.tokenizer,
        vocab_size=config.vocab_size,
        share_vocabulary=config.share_vocabulary,
    )
    path = Path(config.data or corpus_path())
    held_out = [held and read_pairs(held) for held in (config.validation, config.test)]
    if config.stream:
        dataset = prepare.stream(path, *held_out, tokenizers)
    else:
        dataset = prepare(read_pairs(path), *held_out)
    print(f"Corpus {path.name}\n{dataset}")
    return dataset


def make_batches(config, dataset, block_stats=None):
    """Makes the batches of a run and prints how many there are.

    Args:
        config: a `RunConfig`.
        dataset: a `PreparedDataset`.
        block_stats: those of an earlier run on the same file, see `StreamedBuckets`, or None.

    Returns:
        Batches of the training part, and of the validation part.
    """
    size = config.batch_size if config.batch_tokens is None else None
    batches = dataset.batches(
        dataset.train,
        size,
        config.seed,
        config.batch_tokens,
        multiple=config.accumulation,
        bpe_dropout=config.bpe_dropout,
    )
    if config.stream:
        batches.block_stats = block_stats
    validation = dataset.batches(dataset.validation, size, batch_tokens=config.batch_tokens)
    unit = f"{config.batch_tokens:,} tokens" if size is None else f"{size} pairs"
    print(
        f"{len(batches):,} batches of {unit} and up to {max(batches.shapes)} tokens a sentence, "
        f"{batches.padding_share:.0%} padding"
    )
    return batches, validation


def _make_trainer(config, run, dataset):
    backend = backend_module()
    alone, chief = backend.processes()
    if config.bpe_dropout and not alone:
        raise ValueError(
            "Each of several processes would leave out other merges: train without bpe_dropout, or "
            f"in one process. Received: bpe_dropout={config.bpe_dropout}"
        )
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
    return Trainer(
        model,
        make_optimizer(config, dtype),
        run.path,
        config.label_smoothing,
        config.patience,
        config.keep_weights,
        config.monitor,
        _make_bleu(config, model, dataset),
        tensorboard_writer(run.path / "tensorboard") if config.tensorboard and chief else None,
        config,
        dataset,
    )


def make_optimizer(config, dtype):
    """The optimizer that a `RunConfig` describes, for a model of this dtype policy."""
    scale = config.learning_rate_scale or LEARNING_RATE_SCALES[config.model]
    schedule = WarmupSchedule(config.d_model, config.warmup_steps, scale, config.accumulation)
    optimizer = Adam(
        schedule,
        beta_1=0.9,  # "Attention Is All You Need", section 5.3
        beta_2=0.98,
        epsilon=1e-9,
        global_clipnorm=config.clip_norm,
        use_ema=config.ema > 0,
        # Keras averages after each batch, also where only the last of several moves the weights.
        ema_momentum=config.ema ** (1 / config.accumulation),
        gradient_accumulation_steps=config.accumulation if config.accumulation > 1 else None,
    )
    # Small gradients are zero in float16 unless the loss is made large.
    return keras.optimizers.LossScaleOptimizer(optimizer) if dtype == "mixed_float16" else optimizer


def _make_bleu(config, model, dataset):
    """What scores greedy translations of the validation part, if that is wanted."""
    if config.monitor != "bleu":
        return None
    translate = Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
    references = {}
    for source, target in dataset.validation:
        references.setdefault(source, []).append(target)
    return lambda: score(translate(list(references)), list(references.values())).bleu


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
        f"  python scripts/demo.py {folder}\n"
        f"  python scripts/evaluate.py {folder}\n"
        f"  python scripts/plot_losses.py {folder}"
    )
    return scores


def evaluate_run(folder, weights="best", tokenize="13a", **options):
    """Translates the test part of a run and compares with the references.

    Args:
        folder: path of the run's folder.
        weights: name of the weights, see `RunFolder.read_model`.
        tokenize: how BLEU takes sentences apart, see `score`.
        **options: see `SearchOptions`; by default the search is greedy.

    Returns:
        The `Scores`, and the list of translations.
    """
    check_choice(TOKENIZERS, tokenize=tokenize)
    sources, references = zip(*RunFolder(folder).read_test(), strict=True)
    translations = Translate.from_run(folder, weights)(list(sources), **options)
    return score(translations, references, tokenize), translations
