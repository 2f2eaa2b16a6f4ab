"""Exports a trained run as a SavedModel, to CTranslate2, or as a smaller run in float16."""

from pathlib import Path

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_run,
    add_search_options,
    add_weights,
    given_search_flags,
    load_options,
    search_options,
)
from keras_transformer.cli.startup import import_backend

FOLDERS = {"saved_model": "saved_model/1", "ctranslate2": "ctranslate2", "float16": "float16"}


def add_arguments(parser):
    """Adds the run, the export format and its options."""
    add_run(parser)
    add_weights(parser)
    parser.add_argument(
        "--to",
        choices=FOLDERS,
        required=True,
        help="export format: saved_model, ctranslate2, or float16, a run folder of half the size "
        "without checkpoints (required)",
    )
    parser.add_argument(
        "--output",
        help="output folder (default: RUN/exported/saved_model/1, RUN/exported/ctranslate2 or "
        "RUN/exported/float16)",
    )
    parser.add_argument(
        "--quantization", choices=["int8"], help="number type, ctranslate2 only (default: float32)"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="overwrite an existing export (default: refuse)"
    )
    # A SavedModel is deterministic and returns one translation. CTranslate2 takes search options
    # at translation time.
    add_search_options(parser, without=("n_best", "temperature", "top_k", "top_p", "seed"))


def run(arguments):
    """Exports the run and prints the output folder."""
    _check(arguments)
    options = search_options(arguments)
    import_backend()
    folder = Path(arguments.output or Path(arguments.run, "exported", FOLDERS[arguments.to]))
    try:
        _export(arguments, folder, options)
    except RuntimeError as error:  # wrong backend, or CTranslate2's converter failed
        raise ValueError(str(error)) from error
    print(f'Written to {folder}. For usage, see "Exports" in docs/overview.md.')


def _check(arguments):
    if arguments.to != "ctranslate2" and arguments.quantization:
        raise ValueError("--quantization requires --to ctranslate2")
    flags = given_search_flags(arguments)
    if arguments.to != "saved_model" and flags:
        raise ValueError(
            f"{flags[0]} requires --to saved_model: the other formats take search options at "
            "translation time"
        )


def _export(arguments, folder, options):
    if arguments.to == "float16":
        from keras_transformer.export.float16 import export_float16

        export_float16(arguments.run, folder, arguments.overwrite, **load_options(arguments))
        return
    translate = kt.Translate.from_run(arguments.run, **load_options(arguments))
    if arguments.to == "saved_model":
        from keras_transformer.export.saved_model import export_saved_model

        export_saved_model(translate, folder, arguments.overwrite, **options)
    else:
        from keras_transformer.export.ctranslate2 import export_ctranslate2

        export_ctranslate2(translate, folder, arguments.overwrite, arguments.quantization)
