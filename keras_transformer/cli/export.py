"""Exports a trained run for TensorFlow Serving or for CTranslate2."""

from pathlib import Path

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_run,
    add_search_options,
    add_weights,
    given_search_flags,
    search_options,
)

FOLDERS = {"saved_model": "saved_model/1", "ctranslate2": "ctranslate2"}


def add_arguments(parser):
    """Adds the run, the format and its options."""
    add_run(parser)
    add_weights(parser)
    parser.add_argument(
        "--to",
        choices=FOLDERS,
        required=True,
        help="format to write; a run with BPE: ctranslate2 (required)",
    )
    parser.add_argument(
        "--output",
        help="folder to write (default: exported/saved_model/1 or exported/ctranslate2 in RUN)",
    )
    parser.add_argument(
        "--quantization",
        choices=["int8"],
        help="quantization of the weights, for ctranslate2 (default: none)",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace an earlier export (default: an earlier export is an error)",
    )
    # A SavedModel returns one translation, the same each time: it does not sample. CTranslate2
    # takes its own search options when it translates.
    add_search_options(parser, without=("n_best", "temperature", "top_k", "top_p", "seed"))


def run(arguments):
    """Exports the run and prints where."""
    _check(arguments)
    options = search_options(arguments)
    folder = Path(arguments.output or Path(arguments.run, "exported", FOLDERS[arguments.to]))
    try:
        _export(arguments, folder, options)
    except RuntimeError as error:  # of another backend, or of CTranslate2's converter
        raise ValueError(str(error)) from error
    print(f"Written to {folder}. How to use it: docs/overview.md, Exports")


def _check(arguments):
    if arguments.to == "saved_model" and arguments.quantization:
        raise ValueError("--quantization is for ctranslate2")
    flags = given_search_flags(arguments)
    if arguments.to == "ctranslate2" and flags:
        raise ValueError(
            f"{flags[0]} is for saved_model: CTranslate2 takes search options when it translates"
        )


def _export(arguments, folder, options):
    translate = kt.Translate.from_run(arguments.run, arguments.weights)
    if arguments.to == "saved_model":
        from keras_transformer.export.saved_model import export_saved_model

        export_saved_model(translate, folder, arguments.overwrite, **options)
    else:
        from keras_transformer.export.ctranslate2 import export_ctranslate2

        export_ctranslate2(translate, folder, arguments.overwrite, arguments.quantization)
