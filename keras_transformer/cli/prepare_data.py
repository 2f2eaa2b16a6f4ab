"""Describes sentence pairs, and cleans them: case, punctuation and accents."""

import os

from keras_transformer.cli.arguments import add_data_limits


def add_arguments(parser):
    """Adds the files and the cleaning options."""
    parser.add_argument(
        "input",
        help="file of sentence pairs (.tsv, .txt, .csv, .jsonl, .tmx, .zip, .pkl); with "
        "--target-file, the source sentences",
    )
    parser.add_argument(
        "output", nargs="?", help="output file, .pkl or .tsv (default: only describe the pairs)"
    )
    parser.add_argument(
        "--target-file",
        help="file of target sentences, parallel to the input (default: the input has pairs)",
    )
    parser.add_argument(
        "--columns",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="names of the columns, keys or languages of source and target, such as en de "
        "(default: the first two)",
    )
    parser.add_argument(
        "--keep-case", action="store_true", help="keep uppercase letters (default: lowercase)"
    )
    parser.add_argument(
        "--keep-punctuation",
        action="store_true",
        help="keep punctuation and words with digits (default: remove them)",
    )
    parser.add_argument(
        "--keep-letters",
        action="store_true",
        help="keep letters outside ASCII: ä, ß, accents, Cyrillic … (default: reduce to ASCII)",
    )
    add_data_limits(parser)


def run(arguments):
    """Describes the pairs, writes the cleaned ones, and prints how many were dropped."""
    from keras_transformer.data.cleaning import clean_pairs
    from keras_transformer.data.pair_report import pair_report
    from keras_transformer.data.pairs import read_pairs, write_pairs

    _check_output(arguments)
    pairs = read_pairs(
        arguments.input, arguments.target_file, arguments.data_limits, arguments.columns
    )
    print(f"read    {len(pairs)} pairs", *pair_report(pairs), sep="\n")
    if arguments.output is None:
        return
    cleaned = clean_pairs(
        pairs, arguments.keep_case, arguments.keep_punctuation, arguments.keep_letters
    )
    print(f"dropped {len(pairs) - len(cleaned)} pairs: empty source or target after cleaning")
    write_pairs(arguments.output, cleaned)
    print(f"written {len(cleaned)} pairs to {arguments.output}")


def _check_output(arguments):
    inputs = [os.path.realpath(path) for path in (arguments.input, arguments.target_file) if path]
    if arguments.output is not None and os.path.realpath(arguments.output) in inputs:
        raise ValueError(
            f"The output must not be an input file: choose another. Received: {arguments.output}"
        )
