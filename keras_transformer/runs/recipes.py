"""Recipes: files of flags of `keras-transformer train`, with a reason for each."""

import dataclasses
import shlex
from pathlib import Path

from keras_transformer._utils.checks import check_choice
from keras_transformer.runs._setting import flag_of, reader_of
from keras_transformer.runs.config import RunConfig

_FOLDER = Path(__file__).parent.parent / "recipes"
_SUMMARY = "# Time and score: "  # begins the second line of a recipe
RECIPES = tuple(sorted(path.stem for path in _FOLDER.glob("*.txt")))


def read_recipe(name):
    """Returns the settings of a recipe, and of the one that it names: fields of `RunConfig`.

    Raises:
        ValueError: if there is no such recipe.
    """
    check_choice(RECIPES, recipe=name)
    fields = {flag_of(field): field for field in dataclasses.fields(RunConfig)}
    settings = {}
    for line in _lines(name):
        match shlex.split(line, comments=True):
            case ["--recipe", other]:
                settings = read_recipe(other) | settings
            case [flag]:
                settings[fields[flag.replace("--no-", "--")].name] = not flag.startswith("--no-")
            case [flag, value]:
                settings[fields[flag].name] = reader_of(fields[flag])(value)
    return settings


def list_recipes():
    """Returns the text of `--list-recipes`: what each recipe is for, its time and its score."""
    lines = []
    for name in RECIPES:
        purpose, summary, *_ = _lines(name)
        lines += [f"{name}: {purpose.removeprefix('# ')}", f"    {summary.removeprefix(_SUMMARY)}"]
    return "\n".join(lines)


def _lines(name):
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
