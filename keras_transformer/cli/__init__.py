"""Trains, evaluates, serves and exports Transformer models."""

import argparse
import importlib
import sys

COMMANDS = (
    "train",
    "translate",
    "evaluate",
    "plot",
    "export",
    "average-checkpoints",
    "attention-page",
    "demo",
    "prepare-data",
    "train-bert",
    "train-classifier",
    "train-language-model",
    "train-vit",
    "forecast",
)

# The messages of these errors tell the user what to do. Any other error is a bug and keeps its
# traceback.
_EXPECTED_ERRORS = (ValueError, OSError, FloatingPointError, ImportError)


def main(argv=None):
    """Runs the `keras-transformer` command.

    Args:
        argv: list of command-line arguments. Defaults to `sys.argv[1:]`.
    """
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in COMMANDS:
        run_command(argv[0], argv[1:])
    else:
        _make_overview().parse_args(argv[:1])  # prints the help or an error and exits


def run_command(name, argv=None, prog=None):
    """Runs a subcommand and reports expected errors in one line, without a traceback.

    Exits with code 2 after an error and with code 130 after Ctrl-C.

    Args:
        name: one of `COMMANDS`.
        argv: list of command-line arguments. Defaults to `sys.argv[1:]`.
        prog: program name in messages. Defaults to `keras-transformer NAME`.
    """
    parser = make_parser(name, prog)
    try:
        # Allows options between positional arguments, such as sentences.
        arguments = parser.parse_intermixed_args(argv)
        _module(name).run(arguments)
    except _EXPECTED_ERRORS as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "\n")


def make_parser(name, prog=None):
    """Builds the argument parser of a subcommand.

    Args:
        name: one of `COMMANDS`.
        prog: program name in messages. Defaults to `keras-transformer NAME`.
    """
    prog = prog or f"keras-transformer {name}"
    parser = argparse.ArgumentParser(prog=prog, description=_summary(name))
    _module(name).add_arguments(parser)
    return parser


def _make_overview():
    """Builds the parser that lists all subcommands."""
    parser = argparse.ArgumentParser(prog="keras-transformer", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        commands.add_parser(name, help=_summary(name), add_help=False)
    return parser


def _summary(name):
    return _module(name).__doc__.splitlines()[0]


def _module(name):
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
