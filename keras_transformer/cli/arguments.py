"""Arguments that several subcommands share, each described once."""

import argparse
import dataclasses
import math
from pathlib import Path

from keras_transformer.inference.options import SearchOptions

_SEARCH_HELP = {
    "beam_size": "number of hypotheses in the beam; 1: greedy search",
    "n_best": "number of best hypotheses to return for each sentence",
    "length_penalty": "exponent of the beam's length penalty; 0: none, prefers short translations",
    "temperature": "sampling temperature; 0: no sampling",
    "top_k": "sample from the k most probable tokens only; 0: from all",
    "top_p": "sample from the most probable tokens that together have this probability",
    "seed": "seed of the sampling",
    "min_length_ratio": "minimum length of a translation, as a share of the source's tokens",
    "max_length_ratio": "maximum length of a translation, as a share of the source's tokens",
    "no_repeat_ngram_size": "size of the n-grams that may not occur twice; 0: no limit",
    "allow_unknown": "allow the unknown token in translations",
}


def add_run(parser):
    """Adds the folder of a trained run."""
    parser.add_argument("run", help="folder of the run")


def add_weights(parser, default="best"):
    """Adds the name of the weights to read from a run."""
    parser.add_argument(
        "--weights",
        default=default,
        help="weights to use: best, average, epoch-0012, … (default: best)",
    )


def add_search_options(parser, without=(), **defaults):
    """Adds a flag for each field of `SearchOptions`.

    A flag that is not given is missing from the parsed arguments: see `search_options`.

    Args:
        parser: an `argparse.ArgumentParser`.
        without: names of the fields that the subcommand does not take.
        **defaults: defaults that differ from those of `SearchOptions`, for the help only.
    """
    group = parser.add_argument_group("search options")
    for field in dataclasses.fields(SearchOptions):
        if field.name in without:
            continue
        default = defaults.get(field.name, field.default)
        help = f"{_SEARCH_HELP[field.name]} (default: {default})"
        options = {"dest": field.name, "default": argparse.SUPPRESS, "help": help}
        if field.type is bool:
            options["action"] = argparse.BooleanOptionalAction
        else:
            options["type"], options["metavar"] = field.type, field.type.__name__.upper()
        group.add_argument(_search_flag(field.name), **options)


def _search_flag(name):
    return "--beam" if name == "beam_size" else "--" + name.replace("_", "-")


def given_search_options(arguments):
    """Returns the search options that were given, by name; they are not checked."""
    names = [field.name for field in dataclasses.fields(SearchOptions)]
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def given_search_flags(arguments):
    """Returns the flags of the search options that were given."""
    return [_search_flag(name) for name in given_search_options(arguments)]


def search_options(arguments, **defaults):
    """Returns checked search options, as keyword arguments of a search.

    Args:
        arguments: the parsed arguments.
        **defaults: values of options that were not given.

    Raises:
        ValueError: if an option is out of range, or two exclude each other.
    """
    options = {**defaults, **given_search_options(arguments)}
    SearchOptions(**options)  # checks them before Keras is imported
    return options


def add_output_run(parser, default):
    """Adds the folder that a training subcommand writes."""
    parser.add_argument(
        "--run",
        type=Path,
        default=Path(default),
        help="folder to write (default: %(default)s)",
    )


def add_epochs(parser, default):
    """Adds the number of epochs."""
    parser.add_argument(
        "--epochs",
        type=integer(1),
        default=default,
        metavar="INT",
        help="number of epochs (default: %(default)s)",
    )


def add_learning_rate(parser, default, note=""):
    """Adds the maximum of the learning-rate schedule."""
    parser.add_argument(
        "--learning-rate",
        type=positive_number,
        default=default,
        metavar="FLOAT",
        help=f"maximum of the learning-rate schedule{note} (default: %(default)s)",
    )


def add_seed(parser):
    """Adds the seed of a training subcommand."""
    parser.add_argument(
        "--seed",
        type=integer(0, 2**32 - 1),
        default=0,
        metavar="INT",
        help="seed of the weights and of the training (default: %(default)s)",
    )


def integer(least, greatest=math.inf):
    """Returns a type for `argparse`: the integers of a range."""

    def read(text):
        number = int(text)
        if not least <= number <= greatest:
            limits = f"at least {least}" if greatest == math.inf else f"from {least} to {greatest}"
            raise argparse.ArgumentTypeError(f"must be an integer {limits}. Received: {text}")
        return number

    read.__name__ = "int"  # for the message of `argparse` about what is no integer
    return read


def positive_number(text):
    """Reads a positive number, as a type for `argparse`."""
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a positive number. Received: {text}")
    return number


positive_number.__name__ = "float"
