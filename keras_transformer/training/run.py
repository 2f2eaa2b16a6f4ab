"""A training run, from the corpus to the test score."""

import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.command_line import command_line
from keras_transformer._utils.types import PathLike
from keras_transformer.backends import backend_module
from keras_transformer.data.corpus import corpus_path
from keras_transformer.data.dataset import PrepareDataset, PreparedDataset
from keras_transformer.data.pairs import read_pairs
from keras_transformer.data.references import read_references
from keras_transformer.data.token_shards import TokenShards
from keras_transformer.data.tokenizers import Tokenizer, WordTokenizer, unknown_share
from keras_transformer.evaluation import Scores, check_tokenize, score
from keras_transformer.inference.sentences import check_token_count
from keras_transformer.inference.translate import Translate
from keras_transformer.models.lora import enable_lora
from keras_transformer.objectives.optimizer import Adam
from keras_transformer.objectives.schedules import WarmupSchedule
from keras_transformer.plotting import plot_losses
from keras_transformer.runs.config import RunConfig
from keras_transformer.runs.folder import (
    MakeModel,
    RunFolder,
    build_run_model,
    make_model as library_model,
)
from keras_transformer.runs.lock import training_lock
from keras_transformer.runs.model_description import ModelDescription
from keras_transformer.runs.model_settings import RECURRENT
from keras_transformer.runs.own_model import function_name
from keras_transformer.settings import describe_settings
from keras_transformer.training.adapting import (
    describe_fit,
    freeze_encoder,
    mixed_pairs,
    parent_folder,
)
from keras_transformer.training.samples import format_samples
from keras_transformer.training.tensorboard import tensorboard_writer
from keras_transformer.training.trainer import Trainer

_MAX_WARM_UP = 0.2  # share of the updates of a run
_SAMPLES = 5  # number of test translations in the report
_LOW_BLEU = 5
# Settings that a folder of token ids excludes.
_NOT_OF_A_FOLDER = ("validation", "test", "columns", "mix", "n_sentences")
# The default number of epochs: enough updates for a corpus of any size, but a small one is not
# repeated until the model memorizes it.
_UPDATES, _MIN_EPOCHS, _MAX_EPOCHS = 1600, 3, 15


def train_run(
    config: RunConfig,
    folder: PathLike,
    make_model: MakeModel = library_model,
    model_parallel: int = 1,
) -> Scores | None:
    """Trains a translator as configured and writes everything to a run folder.

    If the folder holds a run already, training resumes from its last checkpoint. At the end the
    function prints the scores on the test part, some translations and the next commands.

    Args:
        config: a `RunConfig`.
        folder: path of the run folder.
        make_model: function `(config, source_vocab_size, target_vocab_size)` that makes the model,
            such as `kt.make_model`, followed by the replacement of parts. The run keeps the name of
            another function, not its code.
        model_parallel: number of devices that share the weights (JAX only); a run can be resumed
            with any other number.

    Returns:
        The `Scores` on the test part; None in a process of distributed training other than the
        chief.

    Raises:
        KeyboardInterrupt: if Ctrl-C or SIGTERM interrupted the training; a checkpoint is saved.
        OSError: if a file is missing, or cannot be read or written. A BlockingIOError if another
            process trains in this folder.
        ConnectionError: if another process of distributed training is lost.
        ValueError: if the data is unsuitable, or the folder holds a run with other data or
            settings.
        FloatingPointError: if the loss is no longer finite.

    Example:
        kt.train_run(kt.RunConfig(epochs=3), "runs/en-de")
        translate = kt.Translate.from_run("runs/en-de")

        def make_model(config, source_vocab_size, target_vocab_size):
            model = kt.make_model(config, source_vocab_size, target_vocab_size)
            model.encoder.layers[0].feed_forward = keras.layers.Dense(config.d_model, "gelu")
            return model

        kt.train_run(kt.RunConfig(epochs=3), "runs/changed", make_model)
        translate = kt.Translate.from_run("runs/changed", make_model=make_model)
    """
    check_sizes(model_parallel=model_parallel)
    own_model = None if make_model is library_model else make_model
    if own_model and not config.has_own_model:
        config = dataclasses.replace(config, model=function_name(make_model))
    config = with_folder_settings(config)
    run = RunFolder(folder)
    resuming = run.exists
    if resuming:
        with training_lock(folder):  # refuses early; several processes may be here at once
            pass
        config = run.read_config().with_changes(**dataclasses.asdict(config))
    if own_model is None:
        ModelDescription.from_config(config, (1, 1)).check_made_by_library(run.path)
    # A run that was killed before its first checkpoint begins again with the weights of its parent.
    begins = config.parent and not run.has_checkpoint
    beginning = parent_folder(config.parent) if begins else None
    known = run if resuming else beginning
    dataset = prepare_dataset(config, known.read_tokenizers() if known else None)
    if resuming:
        run.check_dataset(dataset)
    batches = make_batches(config, dataset)
    updates = number_of_updates(config, batches[0])
    if model_parallel > 1:
        _check_shardable(config, dataset, model_parallel)
    # All processes read the folder before they join here. Only afterwards does the trainer of the
    # chief write to it.
    with backend_module().distribution(model_parallel) as scope:
        with scope():
            trainer = _make_trainer(config, run, dataset, batches[0], make_model, beginning)
        with training_lock(folder) if trainer.chief else contextlib.nullcontext():
            history, interrupted = trainer.train(*batches, number_of_epochs(config, batches[0]))
    if history and trainer.chief:
        plot_losses(run.path, run.curves)
    if interrupted:
        sharding = ("--model-parallel", model_parallel) if model_parallel > 1 else ()
        flags = (*_model_flag(config), *sharding)
        again = command_line("train", "--run", run.path, "--resume", *flags)
        print(f"Saved a checkpoint in {run.path}. Resume training with:\n  {again}", flush=True)
        raise KeyboardInterrupt
    return _report(run, config, updates, own_model) if trainer.chief else None


def with_folder_settings(config):
    """Returns the configuration with the settings of a folder of token ids, if the data is one.

    Raises:
        FileNotFoundError: if the folder has no token ids.
        ValueError: if the configuration has other settings of the data.
    """
    if not (config.data and Path(config.data).is_dir()):
        return config
    found = dict.fromkeys(_NOT_OF_A_FOLDER) | {"bpe_dropout": 0.0}
    found |= TokenShards(config.data).settings
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    settings = {name: getattr(config, name) for name in found}
    refused = {k: x for k, x in settings.items() if x not in (defaults[k], found[k])}
    if refused:
        raise ValueError(
            f"The folder {config.data} has its own validation part, test part and vocabularies, "
            f"prepared with {found}: leave other settings out; to adapt a run, prepare the data "
            f"with --vocabularies RUN. Received: {refused}"
        )
    return dataclasses.replace(config, **found)


def prepare_dataset(config, tokenizers=None):
    """Reads and prepares the sentence pairs of a run, and prints their numbers.

    Args:
        config: a `RunConfig`.
        tokenizers: source and target tokenizer of a resumed run or of the run to adapt; None for a
            new run.

    Returns:
        A `PreparedDataset`.
    """
    path = Path(config.data or corpus_path())
    if path.is_dir():
        dataset = _load_tokens(path, tokenizers)
    else:
        dataset = _prepare(config, path, tokenizers)
    translated = {"test": dataset.test}
    if config.monitor == "bleu":
        translated["validation"] = dataset.validation
    for name, part in translated.items():
        for number, (source, _) in enumerate(part, start=1):
            tokens = len(dataset.source_tokenizer.encode(source))
            check_token_count(f"{number} of the {name} part, {source[:30]!r}…,", tokens)
    print(f"Data: {path.name}, {dataset.sizes}")
    if config.parent:
        print(*describe_fit(dataset), sep="\n")
    return dataset


def _load_tokens(folder, tokenizers):
    """Loads the token ids in a folder, and compares their vocabularies with those of a run."""
    dataset = PreparedDataset.load(folder)
    own = (dataset.source_tokenizer, dataset.target_tokenizer)
    pairs = zip(own, tokenizers or own, strict=True)
    if any(a.to_json() != b.to_json() for a, b in pairs):
        raise ValueError(
            "The token ids must be made with the vocabularies of the run, see --vocabularies of "
            f"{command_line('prepare-data')}. Received: other vocabularies in {folder}"
        )
    return dataset


def _prepare(config, path, tokenizers):
    prepare = PrepareDataset(
        config.n_sentences,
        min_count=config.min_count,
        max_length=config.max_length,
        seed=config.seed,
        tokenizer="bpe" if config.bpe_dropout else config.tokenizer,
        vocab_size=config.vocab_size,
        share_vocabulary=config.share_vocabulary,
    )
    options = {"data_limits": config.data_limits, "columns": config.columns}
    held_out = [file and read_pairs(file, **options) for file in (config.validation, config.test)]
    pairs = read_pairs(path, **options)
    mixed = mixed_pairs(config, len(pairs[: config.n_sentences])) if config.mix else ()
    # A resumed run trains its tokenizers again, to notice other data.
    kept = tokenizers if config.parent else None
    return prepare(pairs, *held_out, tokenizers=kept, mixed=mixed)


def make_batches(config, dataset):
    """Makes the batches of a run.

    Args:
        config: a `RunConfig`.
        dataset: a `PreparedDataset`.

    Returns:
        The batches of the training part and of the validation part.
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
    validation = dataset.batches(dataset.validation, size, batch_tokens=config.batch_tokens)
    return batches, validation


def number_of_epochs(config, batches):
    """Returns the maximum number of epochs of a run, which may depend on the size of its data."""
    if config.epochs is not None:
        return config.epochs
    epochs = round(_UPDATES * config.accumulation / len(batches))
    return min(max(epochs, _MIN_EPOCHS), _MAX_EPOCHS)


def number_of_updates(config, batches):
    """Returns the number of updates of a whole run."""
    return number_of_epochs(config, batches) * len(batches) // config.accumulation


def _check_shardable(config, dataset, size):
    """Raises a ValueError unless `size` devices can share the weights of a run evenly."""
    if config.model in RECURRENT:
        raise ValueError(
            f"--model-parallel is for Transformers: leave it out. Received: model={config.model}"
        )
    sizes = {name: getattr(config.block_settings(), name) for name in ("h", "h_kv", "d_ff")}
    sizes["source vocabulary"] = dataset.source_tokenizer.vocab_size
    sizes["target vocabulary"] = dataset.target_tokenizer.vocab_size
    uneven = [f"{name} {n:,}" for name, n in sizes.items() if n and n % size]
    if uneven:
        raise ValueError(
            f"--model-parallel {size} needs sizes that are multiples of {size}: change the flags "
            "of the model; --tokenizer bpe --vocab-size sets the size of the vocabularies. "
            f"Received: {', '.join(uneven)}"
        )


def _make_trainer(config, run, dataset, batches, make_model, beginning=None):
    backend = backend_module()
    process, processes = backend.processes()
    if config.bpe_dropout and processes > 1:
        raise ValueError(
            "bpe_dropout does not work with several processes, because each would skip different "
            "merges: train without bpe_dropout, or in one process. Received: "
            f"bpe_dropout={config.bpe_dropout}"
        )
    backend.make_deterministic()
    keras.utils.set_random_seed(config.seed)
    device = backend.describe_device()
    dtype = config.dtype
    if dtype == "auto":
        dtype = "mixed_bfloat16" if device.bfloat16 else "float32"
    tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
    model = build_run_model(config, tokenizers, dtype, make_model)
    if beginning:
        own = make_model if config.has_own_model else None
        model.set_weights(beginning.read_model(make_model=own).get_weights())
    if config.lora:
        enable_lora(model, config.lora)
    if config.freeze:
        freeze_encoder(model)
    updates = number_of_updates(config, batches)
    config = with_automatic(config, dataset, batches, dtype)
    print(_describe(config, model, updates), f"{dtype} on {device.name}, {keras.config.backend()}")
    print(_describe_batches(config, batches), *dataset.remarks, f"Run folder: {run.path}", sep="\n")
    return Trainer(
        model,
        make_optimizer(config, dtype, updates),
        run.path,
        label_smoothing=config.label_smoothing,
        patience=config.patience,
        keep_weights=config.keep_weights,
        monitor=config.monitor,
        bleu=_make_bleu(config, model, dataset),
        writer=tensorboard_writer(run.path / "tensorboard")
        if config.tensorboard and process == 0
        else None,
        config=config,
        dataset=dataset,
    )


def with_automatic(config, dataset, batches, dtype):
    """Returns the configuration with the values that a run chooses, see `RunConfig`."""
    heads = {}
    if config.model not in RECURRENT:
        settings = config.block_settings()
        heads = {"d_k": settings.d_k, "d_v": settings.d_v}
    warm_up, scale = _warm_up(config, number_of_updates(config, batches))
    words = isinstance(dataset.source_tokenizer, WordTokenizer)
    return config.with_automatic(
        tokenizer="words" if words else "bpe",
        rate=config.dropout_rate,
        **heads,
        epochs=number_of_epochs(config, batches),
        optimizer="muon" if config.uses_muon else "adam",
        warmup_steps=warm_up,
        learning_rate_scale=scale,
        dtype=dtype,
    )


def make_optimizer(config, dtype, updates):
    """Builds the optimizer described by a `RunConfig`.

    Args:
        config: a `RunConfig`.
        dtype: dtype policy of the model.
        updates: number of updates of the run.
    """
    schedule = _make_schedule(config, updates)
    options = {
        "epsilon": 1e-9,  # "Attention Is All You Need", section 5.3
        "global_clipnorm": config.clip_norm,
        "use_ema": config.ema > 0,
        # Keras updates the EMA after each batch, even if gradients are only accumulated.
        "ema_momentum": config.ema ** (1 / config.accumulation),
        "gradient_accumulation_steps": config.accumulation if config.accumulation > 1 else None,
    }
    beta_1, beta_2 = 0.9, 0.98  # same section
    if config.uses_muon:
        options |= {"weight_decay": None, "adam_weight_decay": None}
        options |= {"adam_beta_1": beta_1, "adam_beta_2": beta_2}
        # Embeddings learn better at twice the rate. Three iterations score as well as five, which
        # take a seventh more of a training step.
        optimizer = keras.optimizers.Muon(schedule, adam_lr_ratio=2.0, ns_steps=3, **options)
    else:
        optimizer = Adam(schedule, beta_1, beta_2, **options)
    # Small gradients underflow in float16 unless the loss is scaled.
    return keras.optimizers.LossScaleOptimizer(optimizer) if dtype == "mixed_float16" else optimizer


def _make_schedule(config, updates):
    warm_up, scale = _warm_up(config, updates)
    total = updates if config.decay == "linear" else None
    return WarmupSchedule(config.d_model, warm_up, scale, config.accumulation, total)


def _warm_up(config, updates):
    """Returns the updates of the warm-up, and the factor on the paper's learning rate."""
    scale = config.learning_rate_scale or config.best_learning_rate_scale
    if config.decay != "linear":  # does not depend on the length of the run
        return config.warmup_steps, scale
    warm_up = min(config.warmup_steps, max(1, int(_MAX_WARM_UP * updates)))
    return warm_up, scale * (warm_up / config.warmup_steps) ** 0.5  # leaves the peak as it is


def _describe(config, model, updates):
    """Describes the model and its optimizer in a line."""
    if config.model in RECURRENT:
        kind = f"{config.model}, {config.d_model} units, dropout {config.dropout_rate:g}"
    else:
        kind = describe_settings(config.block_settings())
        kind = f"{config.model}, {kind}" if config.has_own_model else f"transformer, {kind}"
    warm_up, scale = _warm_up(config, updates)
    decay = "linear to 0" if config.decay == "linear" else "inverse square root"
    peak = scale * (config.d_model * warm_up) ** -0.5
    return (
        f"Model: {kind}, {model.count_params():,} parameters; "
        f"{'Muon' if config.uses_muon else 'Adam'} with a learning rate of {peak:.2g} after "
        f"{warm_up:,} of {updates:,} updates, then {decay};"
    )


def _describe_batches(config, batches):
    """Describes the batches of an epoch in a line."""
    size = config.batch_tokens
    unit = f"{size:,} tokens" if size is not None else f"{config.batch_size} pairs"
    compiling = (
        f"; compiled when first needed for each of {len(batches.shapes)} lengths"
        if keras.config.backend() == "jax"
        else ""
    )
    return (
        f"{len(batches):,} batches of {unit}, up to {max(batches.shapes)} tokens per sentence, "
        f"{batches.padding_share:.0%} padding{compiling}"
    )


def _make_bleu(config, model, dataset):
    """Returns a function that scores greedy translations of the validation part, or None."""
    if config.monitor != "bleu":
        return None
    translate = Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
    references = {}
    for source, target in dataset.validation:
        references.setdefault(source, []).append(target)
    return lambda: score(translate(list(references)), list(references.values())).bleu


def _model_flag(config):
    return ("--model", config.model) if config.has_own_model else ()


def _report(run, config, updates, make_model):
    """Scores a finished run, prints the result with examples, and returns the `Scores`."""
    scores, translations = evaluate_run(run.path, make_model=make_model)
    print(f"\nTest part: {len(translations):,} sentences\n{scores}\n")
    test = run.read_test()
    sources, references = zip(*test[:_SAMPLES], strict=True)
    print(format_samples(sources, translations[:_SAMPLES], references))
    if scores.bleu < _LOW_BLEU:
        print(_low_bleu_causes(run, test, updates))
    # A page computes only the tokenizers of this package and the layers of 2017.
    for_page = (
        isinstance(run.read_tokenizers()[0], Tokenizer)
        and config.model == "transformer"
        and not config.block_settings().newer()
        and config.activation != "gelu"
    )
    commands = ("demo", "evaluate") if for_page else ("evaluate",)
    print(
        f"\nThe curves are in {run.curves}. Next steps:",
        command_line("translate", run.path, *_model_flag(config), "--", test[0][0]),
        *(command_line(name, run.path, *_model_flag(config)) for name in commands),
        command_line("plot", run.path),
        sep="\n  ",
    )
    return scores


def _low_bleu_causes(run, test, updates):
    """Explains what usually causes a BLEU below 5, with the figures of the run."""
    tokenizer, _ = run.read_tokenizers()
    unknown = unknown_share(tokenizer, [source for source, _ in test])
    return f"""
A BLEU below 5 usually has one of these causes (more in docs/troubleshooting.md):
  - Too few updates: this run made at most {updates:,}, and most translators need a few thousand.
    Set more --epochs, or a smaller --batch-size.
  - Too few pairs: some thousand are the least, and tens of thousands are better.
  - Unknown words: {unknown:.0%} of the test words. \
--tokenizer bpe leaves hardly any unknown.
  - Pairs that are no translations of each other, such as two files whose lines do not match.
  - Test sentences of another kind than the training sentences."""


def test_rows(folder, test=None):
    """Returns (source, references) of the test part of a run, or of another file."""
    return RunFolder(folder).read_test() if test is None else read_references(test)


def evaluate_run(
    folder: PathLike,
    weights: str = "best",
    tokenize: str | None = None,
    test: PathLike | None = None,
    make_model: MakeModel | None = None,
    ensemble: Sequence[PathLike] = (),
    engine: str = "auto",
    compute_type: str | None = None,
    **options: Any,
) -> tuple[Scores, list[str]]:
    """Translates the test part of a run, or another file, and scores the translations.

    Args:
        folder: path of the run folder.
        weights: name of the weights, see `RunFolder.read_model`.
        tokenize: tokenizer of BLEU, see `score`.
        test: path of a tab-separated file with a sentence and one or more references per line;
            None for the test part of the run.
        make_model: function that makes the model of the run, see `train_run`.
        ensemble: folders of further runs, see `Translate.from_run`.
        engine: what searches, see `Translate`.
        compute_type: number type of the engine, see `Translate`.
        **options: fields of `SearchOptions`; by default the search is greedy.

    Returns:
        The `Scores`, and the list of translations.

    Example:
        scores, translations = kt.evaluate_run("runs/en-de", beam_size=4)
        print(scores.bleu)
    """
    check_tokenize(tokenize)
    sources, references = zip(*test_rows(folder, test), strict=True)
    kinds: dict[str, Any] = {"engine": engine, "compute_type": compute_type}
    translate = Translate.from_run(folder, weights, make_model, ensemble, **kinds)
    translations = translate(list(sources), **options)
    return score(translations, references, tokenize), translations
