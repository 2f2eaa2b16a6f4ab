"""Plots the loss curves of one or more runs."""

from pathlib import Path

import keras_transformer as kt
from keras_transformer.cli.startup import import_backend


def add_arguments(parser):
    """Adds the runs and the output file."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of trained runs")
    parser.add_argument("--output", help="output image (default: RUN/curves.png)")


def run(arguments):
    """Plots the curves and prints the path of the image."""
    if len(arguments.runs) > 1 and not arguments.output:
        raise ValueError("--output is required for more than one run")
    import_backend()
    output = arguments.output or kt.RunFolder(arguments.runs[0]).curves
    kt.plot_losses(dict(zip(_names(arguments.runs), arguments.runs, strict=True)), output)
    print(output)


def _names(runs):
    """Returns the names of the folders, or their paths if names are not unique."""
    names = [Path(path).resolve().name for path in runs]
    return names if len(set(names)) == len(names) else runs
