"""Draws the curves of one or several runs into a picture."""

import argparse
from pathlib import Path

from keras_transformer.plotting import plot_losses
from keras_transformer.runs.folder import RunFolder


def main():
    parser = argparse.ArgumentParser(prog="plot_losses.py", description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of runs")
    parser.add_argument("--output", help="picture to write (default: RUN/curves.png)")
    arguments = parser.parse_args()
    if len(arguments.runs) > 1 and not arguments.output:
        parser.error("name the picture of several runs with --output")
    names = [Path(run).resolve().name for run in arguments.runs]
    if len(set(names)) < len(names):
        names = arguments.runs
    output = arguments.output or RunFolder(arguments.runs[0]).curves
    try:
        histories = [RunFolder(run).read_history() for run in arguments.runs]
        plot_losses(dict(zip(names, histories, strict=True)), output)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    print(output)


if __name__ == "__main__":
    main()
