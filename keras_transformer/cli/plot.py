"""Draws the loss curves of one or several runs to a file."""

from pathlib import Path

import keras_transformer as kt


def add_arguments(parser):
    """Adds the runs and the file to write."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of runs")
    parser.add_argument("--output", help="picture to write (default: RUN/curves.png)")


def run(arguments):
    """Draws the curves and prints the path of the picture."""
    if len(arguments.runs) > 1 and not arguments.output:
        raise ValueError("name the picture of several runs with --output")
    folders = [kt.RunFolder(path) for path in arguments.runs]
    output = arguments.output or folders[0].curves
    histories = [folder.read_history() for folder in folders]
    kt.plot_losses(dict(zip(_names(arguments.runs), histories, strict=True)), output)
    print(output)


def _names(runs):
    """Returns the names of the folders, or their paths if two have the same name."""
    names = [Path(path).resolve().name for path in runs]
    return names if len(set(names)) == len(names) else runs
