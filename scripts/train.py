"""Trains an English-German translator; without arguments on the project's own corpus."""

import argparse
import shlex
from pathlib import Path

from keras_transformer.runs.config import PRESETS, RunConfig, add_flags
from keras_transformer.training.process import tune_process


def make_parser():
    parser = argparse.ArgumentParser(
        prog="train.py",
        description=f"{__doc__} Flags can stand in a file, see scripts/recipes: train.py @FILE",
        fromfile_prefix_chars="@",
    )
    parser.convert_arg_line_to_args = lambda line: shlex.split(line, comments=True)
    parser.add_argument("--run", help="folder to write (default: runs/NAME_OF_THE_DATA)")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the folder")
    parser.add_argument("--preset", choices=list(PRESETS), help="sizes (default: small)")
    add_flags(parser)
    return parser


def make_config(run, resume, preset, changes):
    changes = {**PRESETS[preset or "small"], **changes}
    if resume:
        return run.read_config().with_changes(**changes)
    if run.exists:
        raise ValueError(
            f"Go on with this run by --resume, or choose another --run. Received: {run.path}"
        )
    return RunConfig(**changes)


def main():
    parser = make_parser()
    changes = vars(parser.parse_args())
    folder, resume, preset = (changes.pop(name) for name in ("run", "resume", "preset"))
    tune_process()  # before Keras is imported

    from keras_transformer.runs.folder import RunFolder
    from keras_transformer.training.run import train_run

    run = RunFolder(folder or Path("runs") / Path(changes.get("data") or "english-german").stem)
    try:
        train_run(make_config(run, resume, preset, changes), run.path)
    except (OSError, ValueError, FloatingPointError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


if __name__ == "__main__":
    main()
