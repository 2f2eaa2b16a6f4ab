"""Trains a translator on sentence pairs (default: the bundled English-German corpus)."""

from pathlib import Path

import keras_transformer as kt
from keras_transformer.cli.run_flags import add_run_flags
from keras_transformer.cli.startup import import_backend
from keras_transformer.data.corpus import corpus_path
from keras_transformer.runs.config import RunConfig
from keras_transformer.runs.recipes import list_recipes, read_recipe


def add_arguments(parser):
    """Adds the data, the output folder and a flag for each field of `RunConfig`."""
    parser.epilog = "@FILE reads flags from a file, with # comments, as recipes have them."
    parser.add_argument("pairs", nargs="?", help="the same as --data (default: that of --data)")
    parser.add_argument(
        "--run", help="output folder (default: runs/ and the recipe or the data file)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="resume the run in --run (default: start a new run)"
    )
    parser.add_argument(
        "--list-recipes",
        action="store_true",
        help="print the recipes, their times and scores (default: train)",
    )
    parser.add_argument(
        "--model-parallel",
        type=int,
        default=1,
        metavar="N",
        help="number of devices that share the weights, on JAX (default: %(default)s, each device "
        "has all weights)",
    )
    add_run_flags(parser)


def run(arguments):
    """Starts a new run or resumes one, or lists the recipes."""
    settings = dict(vars(arguments))
    if settings.pop("list_recipes"):
        print(list_recipes())
        return
    folder, resume, recipe, pairs = (
        settings.pop(name, None) for name in ("run", "resume", "recipe", "pairs")
    )
    model_parallel = settings.pop("model_parallel")
    if pairs is not None:
        if "data" in settings:
            raise ValueError(f"Give either PAIRS or --data. Received: {pairs}, {settings['data']}")
        settings["data"] = pairs
    defaults = read_recipe(recipe) if recipe else {}
    flags, settings = settings, {**defaults, **settings}
    _check(settings, resume)
    import_backend(tuned=True)
    from keras_transformer.runs.own_model import load_function

    run_folder = kt.RunFolder(folder or Path("runs", recipe or _data_name(settings)))
    config = _make_config(run_folder, settings, resume)
    for name, value in defaults.items():
        if flags.get(name, value) != value:
            print(f"Recipe {recipe}: {name} is {flags[name]} instead of {value}")
    # The function that the user names now, never one that the folder of a run names.
    own = "model" in settings and config.has_own_model
    make_model = load_function(settings["model"]) if own else kt.make_model
    kt.train_run(config, run_folder.path, make_model, model_parallel)


def _check(settings, resume):
    """Raises a ValueError for invalid settings, before the slow import of Keras."""
    if resume:
        # Only these may change. The others are compared with the run's own config later, and may
        # be invalid in combination with the defaults.
        settings = {name: settings[name] for name in ("epochs", "patience") if name in settings}
    RunConfig(**settings)


def _data_name(settings):
    return Path(settings.get("data") or corpus_path()).stem


def _make_config(run_folder, settings, resume):
    if resume:
        return run_folder.read_config().with_changes(**settings)
    if run_folder.exists:
        raise ValueError(
            "The folder already contains a run: resume it with --resume or choose another --run. "
            f"Received: {run_folder.path}"
        )
    if settings.get("parent") is not None:
        from keras_transformer.training.adapting import parent_folder

        return parent_folder(settings["parent"]).read_config().adapted(**settings)
    return RunConfig(**settings)
