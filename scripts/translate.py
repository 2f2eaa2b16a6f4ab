"""Translates sentences with a trained run: those given, or the lines of a file or of the input."""

import argparse
import sys

from keras_transformer.inference.translate import Translate


def make_parser():
    parser = argparse.ArgumentParser(prog="translate.py", description=__doc__)
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("sentences", nargs="*", help="sentences (default: standard input)")
    parser.add_argument("--file", help="a text file, one sentence a line")
    return parser


def read_lines(name):
    if name is None:
        return sys.stdin.read().splitlines()
    with open(name, encoding="utf-8") as file:
        return file.read().splitlines()


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    if arguments.file and arguments.sentences:
        parser.error("give sentences or a file, not both")
    try:
        translate = Translate.from_run(arguments.run)
        for translation in translate(arguments.sentences or read_lines(arguments.file)):
            print(translation)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


if __name__ == "__main__":
    main()
