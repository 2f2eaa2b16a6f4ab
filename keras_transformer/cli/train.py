"""Trains an English-German translator; without arguments on the project's own corpus."""

import shlex
from pathlib import Path

import keras_transformer as kt
from keras_transformer.data.corpus import corpus_path
from keras_transformer.runs.config import PRESETS, RunConfig, add_flags
from keras_transformer.training.process import tune_process


def add_arguments(parser):
    """Adds the folder of the run and a flag for each field of `RunConfig`."""
    parser.fromfile_prefix_chars = "@"
    parser.convert_arg_line_to_args = lambda line: shlex.split(line, comments=True)
    parser.epilog = "@FILE reads flags from a file with comments: see scripts/recipes."
    parser.add_argument("--run", help="folder to write (default: runs/NAME_OF_THE_DATA)")
    parser.add_argument(
        "--resume", action="store_true", help="resume the run in the folder (default: a new run)"
    )
    parser.add_argument(
        "--preset", choices=list(PRESETS), help="sizes and schedule (default: small)"
    )
    add_flags(parser)


def run(arguments):
    """Trains a new run, or resumes one."""
    settings = dict(vars(arguments))
    folder, resume = settings.pop("run"), settings.pop("resume")
    settings = {**PRESETS[settings.pop("preset") or "small"], **settings}
    _check(settings, resume)
    tune_process()  # before Keras is imported
    run_folder = kt.RunFolder(folder or _default_folder(settings))
    kt.train_run(_make_config(run_folder, settings, resume), run_folder.path)


def _check(settings, resume):
    """Raises a ValueError for impossible settings, before Keras is imported."""
    if resume:
        # Others must be those of the run, which is read only later and may differ from defaults.
        settings = {name: settings[name] for name in ("epochs", "patience") if name in settings}
    RunConfig(**settings)


def _default_folder(settings):
    return Path("runs") / Path(settings.get("data") or corpus_path()).stem


def _make_config(run_folder, settings, resume):
    if resume:
        return run_folder.read_config().with_changes(**settings)
    if run_folder.exists:
        raise ValueError(
            "The folder holds a run: resume it with --resume, or choose another --run. "
            f"Received: {run_folder.path}"
        )
    return RunConfig(**settings)
