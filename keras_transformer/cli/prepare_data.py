"""Cleans a file of sentence pairs: case, punctuation, accents."""

import os


def add_arguments(parser):
    """Adds the files and what the cleaning keeps."""
    parser.add_argument(
        "input", help="sentence pairs (.pkl, .tsv, .txt), or the source side of two parallel files"
    )
    parser.add_argument("output", help="file to write (.pkl or .tsv)")
    parser.add_argument(
        "--target-file",
        help="target side, line by line parallel to the input (default: in the input)",
    )
    parser.add_argument(
        "--keep-case", action="store_true", help="keep capitals (default: lower case)"
    )
    parser.add_argument(
        "--keep-punctuation",
        action="store_true",
        help="keep punctuation and words with digits (default: removed)",
    )
    parser.add_argument(
        "--keep-umlauts",
        action="store_true",
        help="keep ä, ö, ü, ß and accents (default: plain letters)",
    )


def run(arguments):
    """Writes the cleaned pairs and prints their numbers."""
    from keras_transformer.data.cleaning import clean_pairs
    from keras_transformer.data.pairs import read_pairs, write_pairs

    _check_output(arguments)
    pairs = read_pairs(arguments.input, arguments.target_file)
    cleaned = clean_pairs(
        pairs, arguments.keep_case, arguments.keep_punctuation, arguments.keep_umlauts
    )
    print(f"read    {len(pairs)} pairs")
    print(f"dropped {len(pairs) - len(cleaned)} pairs: cleaning left a side empty")
    write_pairs(arguments.output, cleaned)
    print(f"written {len(cleaned)} pairs to {arguments.output}")


def _check_output(arguments):
    inputs = [os.path.realpath(path) for path in (arguments.input, arguments.target_file) if path]
    if os.path.realpath(arguments.output) in inputs:
        raise ValueError(f"Choose an output that is not an input. Received: {arguments.output}")
