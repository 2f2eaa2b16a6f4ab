"""Translates sentences with a trained run: those given, or the lines of a file or of the input."""

import argparse
import sys
from pathlib import Path

from keras_transformer.inference.translate import Translate

AT_ONCE = 1024  # sentences: sorted by length they translate faster, and what is done is printed


def make_parser():
    parser = argparse.ArgumentParser(prog="translate.py", description=__doc__)
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("sentences", nargs="*", help="sentences (default: standard input)")
    parser.add_argument("--file", help="a text file, one sentence a line")
    return parser


def read_lines(name):
    text = sys.stdin.read() if name is None else Path(name).read_text(encoding="utf-8-sig")
    return text.removesuffix("\n").split("\n")  # not splitlines(): signs in a line split, too


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    if arguments.file and arguments.sentences:
        parser.error("give sentences or a file, not both")
    try:
        translate = Translate.from_run(arguments.run)
        sentences = arguments.sentences or read_lines(arguments.file)
        for start in range(0, len(sentences), AT_ONCE):
            print("\n".join(translate(sentences[start : start + AT_ONCE])), flush=True)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


if __name__ == "__main__":
    main()
