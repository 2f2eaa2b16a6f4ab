"""Trains a translator on sentence pairs (default: the bundled English-German corpus)."""

import shlex
from pathlib import Path

import keras_transformer as kt
from keras_transformer.cli.startup import import_backend
from keras_transformer.data.corpus import corpus_path
from keras_transformer.runs.config import PRESETS, RunConfig, add_flags


def add_arguments(parser):
    """Adds the output folder and a flag for each field of `RunConfig`."""
    parser.fromfile_prefix_chars = "@"
    parser.convert_arg_line_to_args = lambda line: shlex.split(line, comments=True)
    parser.epilog = "@FILE reads flags from a file, with # comments: see scripts/recipes."
    parser.add_argument("--run", help="output folder (default: runs/NAME_OF_THE_DATA_FILE)")
    parser.add_argument(
        "--resume", action="store_true", help="resume the run in --run (default: start a new run)"
    )
    parser.add_argument(
        "--preset",
        choices=list(PRESETS),
        help="model sizes and training schedule; other flags override it (default: small)",
    )
    add_flags(parser)


def run(arguments):
    """Starts a new run or resumes one."""
    settings = dict(vars(arguments))
    folder, resume = settings.pop("run"), settings.pop("resume")
    settings = {**PRESETS[settings.pop("preset") or "small"], **settings}
    _check(settings, resume)
    import_backend(tuned=True)
    from keras_transformer.runs.own_model import load_function

    run_folder = kt.RunFolder(folder or _default_folder(settings))
    config = _make_config(run_folder, settings, resume)
    # The function that the user names now, never one that the folder of a run names.
    own = "model" in settings and config.has_own_model
    make_model = load_function(settings["model"]) if own else kt.make_model
    kt.train_run(config, run_folder.path, make_model)


def _check(settings, resume):
    """Raises a ValueError for invalid settings, before the slow import of Keras."""
    if resume:
        # Only these may change. The others are compared with the run's own config later, and may
        # be invalid in combination with the defaults.
        settings = {name: settings[name] for name in ("epochs", "patience") if name in settings}
    RunConfig(**settings)


def _default_folder(settings):
    return Path("runs") / Path(settings.get("data") or corpus_path()).stem


def _make_config(run_folder, settings, resume):
    if resume:
        return run_folder.read_config().with_changes(**settings)
    if run_folder.exists:
        raise ValueError(
            "The folder already contains a run: resume it with --resume or choose another --run. "
            f"Received: {run_folder.path}"
        )
    return RunConfig(**settings)
