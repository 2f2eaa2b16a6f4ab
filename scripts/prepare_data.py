"""Cleans a file of sentence pairs: `prepare_data.py deu.txt pairs.tsv --keep-case`."""

import argparse
import os

from keras_transformer.data.cleaning import clean_pairs
from keras_transformer.data.pairs import read_pairs, write_pairs


def make_parser():
    parser = argparse.ArgumentParser(prog="prepare_data.py", description=__doc__)
    parser.add_argument("input", help="pairs (.pkl, .tsv, .txt), or the source side of two files")
    parser.add_argument("output", help="file to write (.pkl or .tsv)")
    parser.add_argument("--target-file", help="the target side, line by line as the input")
    parser.add_argument("--keep-case", action="store_true", help="keep capitals")
    parser.add_argument(
        "--keep-punctuation", action="store_true", help="keep punctuation and words with digits"
    )
    parser.add_argument("--keep-umlauts", action="store_true", help="keep ä, ö, ü, ß and accents")
    return parser


def prepare(arguments):
    inputs = [os.path.realpath(path) for path in (arguments.input, arguments.target_file) if path]
    if os.path.realpath(arguments.output) in inputs:
        raise ValueError(f"Choose an output that is not an input. Received: {arguments.output}")
    pairs = read_pairs(arguments.input, arguments.target_file)
    cleaned = clean_pairs(
        pairs, arguments.keep_case, arguments.keep_punctuation, arguments.keep_umlauts
    )
    print(f"read    {len(pairs)} pairs")
    print(f"dropped {len(pairs) - len(cleaned)} pairs: cleaning left a side empty")
    write_pairs(arguments.output, cleaned)
    print(f"written {len(cleaned)} pairs to {arguments.output}")


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    try:
        prepare(arguments)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


if __name__ == "__main__":
    main()
