"""Trains, evaluates, serves and exports Transformer models."""

import argparse
import importlib
import io
import os
import sys

from keras_transformer._utils.reading import shorten
from keras_transformer.cli.arguments import not_empty
from keras_transformer.training.interrupt import interruptible

COMMANDS = (
    "build",
    "train",
    "translate",
    "translate-corpus",
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
# Exit codes of shells: 128 and the number of the signal, here SIGINT and SIGPIPE.
_INTERRUPTED, _BROKEN_PIPE = 130, 141


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

    Exits with code 2 after an error, with code 130 after Ctrl-C or SIGTERM, and with code 141,
    silently, if the program that reads the output has ended (`| head`).

    Args:
        name: one of `COMMANDS`.
        argv: list of command-line arguments. Defaults to `sys.argv[1:]`.
        prog: program name in messages. Defaults to `keras-transformer NAME`.
    """
    prog = prog or f"keras-transformer {name}"
    _open_standard_streams()
    try:
        with interruptible():
            _run(make_parser(name, prog), name, argv)
    except BrokenPipeError:
        # Python flushes standard output once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_BROKEN_PIPE)
    except _EXPECTED_ERRORS as error:
        _exit(2, f"{prog}: error: {shorten(str(error))}")
    except KeyboardInterrupt:
        _exit(_INTERRUPTED, f"{prog}: interrupted")


def _run(parser, name, argv):
    for argument in sys.argv[1:] if argv is None else argv:
        if argument.startswith("--") and argument.endswith("=--"):  # `argparse` drops the value
            parser.error(f"argument {argument[:-3]}: must not be --")
    # Allows options between positional arguments, such as sentences.
    arguments = parser.parse_intermixed_args(argv)
    _module(name).run(arguments)
    sys.stdout.flush()


def _exit(code, line):
    # After Ctrl-C, the cursor of a terminal is behind "^C".
    start = "\n" if code == _INTERRUPTED and sys.stderr.isatty() else ""
    print(f"{start}{line}", file=sys.stderr)
    sys.exit(code)


def _open_standard_streams():
    """Connects closed standard streams to the null device, and lets standard output show all text.

    Otherwise the next file that is opened takes the number of the closed stream, and messages that
    libraries write to this number end up in the file; and a character that the encoding of standard
    output lacks, as in a pipe on Windows, would end the command.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


class _Parser(argparse.ArgumentParser):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.register("type", None, not_empty)  # of arguments without a type, such as paths

    def error(self, message):
        super().error(shorten(message))


def make_parser(name, prog=None):
    """Builds the argument parser of a subcommand.

    Args:
        name: one of `COMMANDS`.
        prog: program name in messages. Defaults to `keras-transformer NAME`.
    """
    prog = prog or f"keras-transformer {name}"
    parser = _Parser(prog=prog, description=_summary(name))
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
