"""Flags of a run's configuration; apart from the other arguments, which all commands import."""

import argparse
import dataclasses
import shlex

from keras_transformer.runs._setting import flag_of, reader_of
from keras_transformer.runs.config import RunConfig
from keras_transformer.runs.recipes import RECIPES


def add_run_flags(parser):
    """Adds `--recipe` and a flag for each field of `RunConfig`.

    Flags that the user leaves out are missing from the parsed arguments, so that a recipe or the
    resumed run can provide their values.
    """
    parser.fromfile_prefix_chars = "@"
    parser.convert_arg_line_to_args = lambda line: shlex.split(line, comments=True)
    parser.add_argument(
        "--recipe",
        choices=RECIPES,
        default=argparse.SUPPRESS,
        help="settings with a name, see --list-recipes; other flags override them (default: none)",
    )
    for field in dataclasses.fields(RunConfig):
        add_run_flag(parser, field)


def add_run_flag(parser, field):
    """Adds a flag for a field of `RunConfig`, see `add_run_flags`."""
    help = f"{field.metadata['help']}; default: {field.default}".replace("%", "%%")
    options = {"help": help, "default": argparse.SUPPRESS}
    if field.type is bool:
        options["action"] = argparse.BooleanOptionalAction
    elif field.name == "columns":
        options |= {"nargs": 2, "metavar": ("SOURCE", "TARGET")}
    elif field.type not in (str, str | None):
        options["type"] = reader_of(field)
    parser.add_argument(flag_of(field), dest=field.name, **options)
