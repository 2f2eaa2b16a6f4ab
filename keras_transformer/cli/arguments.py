"""Command-line arguments that several subcommands share."""

import argparse
import dataclasses
import math
from pathlib import Path

from keras_transformer.inference.engines import ENGINES, check_engine, check_served
from keras_transformer.inference.options import EXTRA_LENGTH, SearchOptions
from keras_transformer.runs.data_settings import MAX_SEED
from keras_transformer.runs.training_settings import MAX_EPOCHS

_SEARCH_HELP = {
    "beam_size": "beam size; 1 is greedy search",
    "n_best": "number of translations to return per sentence",
    "length_penalty": "exponent of the length penalty in beam search; 0 favors short translations",
    "temperature": "sampling temperature; 0 disables sampling",
    "top_k": "sample from the k most probable tokens only; 0 samples from all",
    "top_p": "sample from the smallest set of tokens with this total probability",
    "seed": "random seed for sampling",
    "min_length_ratio": "minimum number of tokens, as a multiple of the source length",
    "max_length_ratio": "maximum number of tokens, as a multiple of the source length, plus "
    f"{EXTRA_LENGTH}",
    "no_repeat_ngram_size": "forbid n-grams of this size from repeating; 0 allows repetition",
    "allow_unknown": "allow the unknown token in translations",
    "glossary": "file of pairs, such as terms.tsv: these source terms get these translations",
    "required_words": "word or phrase that every translation must contain; repeatable",
    "forbidden_words": "word or phrase that no translation may contain; repeatable",
    "copy_spans": "copy URLs, e-mail addresses, numbers and placeholders such as {name} unchanged",
}
_SEARCH_FLAGS = {
    "beam_size": "--beam",
    "required_words": "--require",
    "forbidden_words": "--forbid",
}


def add_run(parser):
    """Adds the positional argument for the folder of a trained run."""
    parser.add_argument("run", help="folder of a trained run")


def add_weights(parser, default="best"):
    """Adds `--weights` and `--model`, which say what to load from a run; see `load_options`."""
    parser.add_argument(
        "--model",
        help="package.module:function or file.py:function that makes the model, for a run with a "
        "model of your own (default: the model of the run)",
    )
    parser.add_argument(
        "--weights",
        default=default,
        help="weights to load: best, average, epoch-0012, … (default: best)",
    )


def add_ensemble(parser):
    """Adds `--ensemble`, which `load_options` returns, too."""
    parser.add_argument(
        "--ensemble",
        action="append",
        default=[],
        metavar="RUN",
        help="another run with the same vocabularies, whose probabilities are averaged with those "
        "of the run; repeatable (default: none)",
    )


def add_engine(parser):
    """Adds `--engine` and `--compute-type`, which `load_options` returns, too."""
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="what searches: numpy, the layers of Keras, or ctranslate2, which needs the extra "
        "[ctranslate2] and does not sample (default: auto, numpy on a CPU, else layers)",
    )
    parser.add_argument(
        "--compute-type",
        metavar="TYPE",
        help="number type of ctranslate2: float32, int8, … (default: float32)",
    )


def load_options(arguments):
    """Returns the arguments of `Translate.from_run` that the flags of `add_weights` gave."""
    from keras_transformer.runs.own_model import load_function

    make_model = None if arguments.model is None else load_function(arguments.model)
    options = {"weights": arguments.weights or "best", "make_model": make_model}
    if getattr(arguments, "ensemble", None):
        options["ensemble"] = arguments.ensemble
    return {**options, **engine_options(arguments)} if "engine" in arguments else options


def engine_options(arguments):
    """Returns the arguments of `Translate` that the flags of `add_engine` gave.

    Raises:
        ImportError: if the engine is not installed.
        ValueError: if the compute type is unknown, or the engine lacks a search option.
    """
    options = {"engine": arguments.engine, "compute_type": arguments.compute_type}
    check_engine(**options)
    if arguments.engine == "ctranslate2":
        check_served(SearchOptions(**search_options(arguments)))
    return options


def add_search_options(parser, without=()):
    """Adds a flag for each field of `SearchOptions`.

    Flags that are not given are absent from the parsed arguments; see `search_options`.

    Args:
        parser: an `argparse.ArgumentParser`.
        without: names of fields to leave out.
    """
    group = parser.add_argument_group("search options")
    for field in dataclasses.fields(SearchOptions):
        if field.name in without:
            continue
        default = "none" if field.default == () else field.default
        help = f"{_SEARCH_HELP[field.name]} (default: {default})"
        options = {"dest": field.name, "default": argparse.SUPPRESS, "help": help}
        if field.type is bool:
            options["action"] = argparse.BooleanOptionalAction
        elif field.name == "glossary":
            options["metavar"] = "FILE"
        elif field.name.endswith("_words"):
            options["action"], options["metavar"] = "append", "TEXT"
        else:
            options["type"], options["metavar"] = field.type, field.type.__name__.upper()
        group.add_argument(_search_flag(field.name), **options)


def _search_flag(name):
    return _SEARCH_FLAGS.get(name, "--" + name.replace("_", "-"))


def given_search_options(arguments):
    """Returns the search options given on the command line as a dictionary, without validation."""
    names = [field.name for field in dataclasses.fields(SearchOptions)]
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def given_search_flags(arguments):
    """Returns the flags of the search options given on the command line."""
    return [_search_flag(name) for name in given_search_options(arguments)]


def search_options(arguments):
    """Returns validated search options as a dictionary of keyword arguments.

    Args:
        arguments: the parsed arguments.

    Raises:
        ValueError: if an option is out of range or two options conflict.
    """
    options = given_search_options(arguments)
    if "glossary" in options:
        options["glossary"] = _read_glossary(options["glossary"])
    SearchOptions(**options)  # validates, before the slow import of Keras
    return options


def _read_glossary(path):
    """Reads terms from a file of pairs, see `read_pairs`, as lists, which JSON can store."""
    from keras_transformer.data.pairs import read_pairs

    return [list(pair) for pair in read_pairs(path)]


def add_output_run(parser, default):
    """Adds `--run`, the output folder of a training subcommand."""
    parser.add_argument(
        "--run",
        type=lambda text: Path(not_empty(text)),
        default=Path(default),
        help="output folder (default: %(default)s)",
    )


def add_number(parser, flag, number, default, description):
    """Adds an option for a number.

    Args:
        parser: an `argparse.ArgumentParser`.
        flag: name of the option, such as "--seed".
        number: its `argparse` type, `integer(…)` or `positive_number`.
        default: its default value, which the help shows.
        description: the beginning of its help.
    """
    options = {"type": number, "default": default, "metavar": number.__name__.upper()}
    parser.add_argument(flag, help=f"{description} (default: %(default)s)", **options)


def add_epochs(parser, default):
    """Adds `--epochs`."""
    add_number(parser, "--epochs", integer(1, MAX_EPOCHS), default, "number of training epochs")


def add_learning_rate(parser, default, note=""):
    """Adds `--learning-rate`, the peak of the learning-rate schedule."""
    add_number(parser, "--learning-rate", positive_number, default, f"peak learning rate{note}")


def add_seed(parser):
    """Adds `--seed` to a training subcommand."""
    add_number(parser, "--seed", integer(0, MAX_SEED), 0, "random seed")


def add_data_limits(parser):
    """Adds `--data-limits`, the factor of the limits of data files."""
    parser.add_argument(
        "--data-limits",
        type=positive_number,
        default=1.0,
        metavar="FLOAT",
        help="factor of the limits of data files, 2 GiB, 10 million lines and 100,000 characters "
        "per line (default: 1)",
    )


def not_empty(text):
    """Parses a text that is not empty, as the `argparse` type of arguments that have no other."""
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def integer(least, greatest=math.inf):
    """Returns an `argparse` type for integers from `least` to `greatest`."""

    def parse(text):
        number = int(text)
        if not least <= number <= greatest:
            limits = (
                f"of at least {least}" if greatest == math.inf else f"from {least} to {greatest}"
            )
            raise argparse.ArgumentTypeError(f"must be an integer {limits}. Received: {text}")
        return number

    parse.__name__ = "int"  # shown by `argparse`: "invalid int value"
    return parse


def positive_number(text):
    """Parses a positive number, as an `argparse` type."""
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a positive number. Received: {text}")
    return number


positive_number.__name__ = "float"  # shown by `argparse`: "invalid float value"
