"""Describes sentence pairs, cleans them, or writes their token ids for large training data."""

import dataclasses
import os

from keras_transformer.cli.arguments import add_data_limits
from keras_transformer.cli.run_flags import add_run_flag
from keras_transformer.cli.startup import import_backend
from keras_transformer.runs.config import RunConfig

# Fields of `RunConfig` that are flags of --tokenize.
_TOKENIZING = ("vocab_size", "share_vocabulary", "max_length")
_CLEANING = ("target_file", "columns", "keep_case", "keep_punctuation", "keep_letters")


def add_arguments(parser):
    """Adds the files and the cleaning options."""
    parser.add_argument(
        "input",
        help="file of sentence pairs (.tsv, .txt, .csv, .jsonl, .tmx, .zip, .pkl); with "
        "--target-file, the source sentences",
    )
    parser.add_argument(
        "output",
        nargs="?",
        help="output file, .pkl or .tsv; with --tokenize, a new folder (default: only describe the "
        "pairs)",
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
    tokenizing = parser.add_argument_group(
        "token ids", "for data that does not fit into memory: train --data FOLDER"
    )
    tokenizing.add_argument(
        "--tokenize",
        action="store_true",
        help="write token ids of a .tsv or .txt file to a folder (default: write pairs)",
    )
    tokenizing.add_argument(
        "--validation", help="file of the validation pairs (default: none, but needed)"
    )
    tokenizing.add_argument("--test", help="file of the test pairs (default: none, but needed)")
    for field in (x for x in dataclasses.fields(RunConfig) if x.name in _TOKENIZING):
        add_run_flag(tokenizing, field)
    tokenizing.add_argument(
        "--vocabularies",
        metavar="RUN",
        help="folder of the run whose vocabularies are used, to adapt it (default: new ones)",
    )


def run(arguments):
    """Describes the pairs, and writes the cleaned ones or their token ids."""
    if arguments.tokenize:
        _tokenize(arguments)
    else:
        _clean(arguments)


def _clean(arguments):
    given = vars(arguments)
    _refuse(given, [*_TOKENIZING, "validation", "test", "vocabularies"], "without --tokenize")
    from keras_transformer.data.cleaning import clean_pairs
    from keras_transformer.data.pair_report import pair_report
    from keras_transformer.data.pairs import check_suffix, read_pairs, write_pairs

    _check_output(arguments)
    if arguments.output is not None:
        check_suffix(arguments.output)  # before a large file is read
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


def _tokenize(arguments):
    given = vars(arguments)
    _refuse(given, _CLEANING, "with --tokenize, which takes the text of a .tsv file as it is")
    if not (arguments.output and arguments.validation and arguments.test):
        raise ValueError(
            "--tokenize needs a folder to write, --validation and --test. "
            f"Received: {arguments.output}, {arguments.validation} and {arguments.test}"
        )
    settings = {name: given[name] for name in _TOKENIZING if name in given}
    RunConfig(**settings)
    import_backend()
    from keras_transformer.data.dataset import PrepareDataset
    from keras_transformer.data.pairs import read_pairs
    from keras_transformer.training.adapting import parent_folder

    tokenizers = None
    if arguments.vocabularies:
        run = parent_folder(arguments.vocabularies)
        config, tokenizers = run.read_config(), run.read_tokenizers()
        kept = {name: getattr(config, name) for name in ("vocab_size", "share_vocabulary")}
        if refused := kept.keys() & settings.keys():
            raise ValueError(
                "The vocabularies are those of --vocabularies: leave these flags out. "
                f"Received: {sorted(refused)}"
            )
        settings |= kept
    limits = arguments.data_limits
    held_out = [read_pairs(x, data_limits=limits) for x in (arguments.validation, arguments.test)]
    prepare = PrepareDataset(**settings)
    dataset = prepare.write_tokens(arguments.input, arguments.output, *held_out, tokenizers, limits)
    print(dataset, f"written to {arguments.output}", sep="\n")


def _refuse(given, names, where):
    found = {name: given[name] for name in names if given.get(name)}
    if found:
        raise ValueError(f"Leave these flags out {where}. Received: {found}")
