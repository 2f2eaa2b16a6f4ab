"""Draws the curves of one or several runs into a picture."""

import argparse
from pathlib import Path

from keras_transformer.plotting import plot_losses
from keras_transformer.run_folder import RunFolder


def main():
    parser = argparse.ArgumentParser(prog="plot_losses.py", description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of runs")
    parser.add_argument("--output", help="picture to write (default: RUN/curves.png)")
    arguments = parser.parse_args()
    if len(arguments.runs) > 1 and not arguments.output:
        parser.error("name the picture of several runs with --output")
    output = arguments.output or RunFolder(arguments.runs[0]).curves
    try:
        plot_losses({_name(run): RunFolder(run).read_history() for run in arguments.runs}, output)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    print(output)


def _name(run):
    return Path(run).resolve().name


if __name__ == "__main__":
    main()
