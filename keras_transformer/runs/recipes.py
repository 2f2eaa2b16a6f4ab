"""Recipes: files of flags of `keras-transformer train`, with a reason for each."""

import argparse
import dataclasses
import shlex
import typing
from pathlib import Path

from keras_transformer._utils.checks import check_choice
from keras_transformer.runs.config import RunConfig

_FOLDER = Path(__file__).parent.parent / "recipes"
_SUMMARY = "# Time and score: "  # begins the second line of a recipe
RECIPES = tuple(sorted(path.stem for path in _FOLDER.glob("*.txt")))


def add_flags(parser):
    """Adds `--recipe` and a flag for each field of `RunConfig` to an `argparse.ArgumentParser`.

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
        add_flag(parser, field)


def add_flag(parser, field):
    """Adds a flag for a field of `RunConfig`, see `add_flags`."""
    help = f"{field.metadata['help']}; default: {field.default}".replace("%", "%%")
    options = {"help": help, "default": argparse.SUPPRESS}
    if field.type is bool:
        options["action"] = argparse.BooleanOptionalAction
    elif field.name == "columns":
        options |= {"nargs": 2, "metavar": ("SOURCE", "TARGET")}
    elif field.type not in (str, str | None):
        options["type"] = _number(field.type)
    flag = "from" if field.name == "parent" else field.name.replace("_", "-")
    parser.add_argument(f"--{flag}", dest=field.name, **options)


def _number(kind):
    """Returns a function that parses an int or a float, or None if the type allows it."""
    convert, *none = typing.get_args(kind) or (kind,)

    def parse(text):
        return None if none and text.lower() == "none" else convert(text)

    parse.__name__ = convert.__name__  # in messages of argparse
    return parse


def read_recipe(name):
    """Returns the settings of a recipe: fields of `RunConfig`, by name.

    Raises:
        ValueError: if there is no such recipe.
    """
    check_choice(RECIPES, recipe=name)
    parser = argparse.ArgumentParser()
    add_flags(parser)
    settings = vars(parser.parse_args([f"@{_FOLDER / name}.txt"]))
    other = settings.pop("recipe", None)
    return settings if other is None else {**read_recipe(other), **settings}


def list_recipes():
    """Returns the text of `--list-recipes`: what each recipe is for, its time and its score."""
    lines = []
    for name in RECIPES:
        text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
        purpose, summary, *_ = text.splitlines()
        lines += [f"{name}: {purpose.removeprefix('# ')}", f"    {summary.removeprefix(_SUMMARY)}"]
    return "\n".join(lines)
