"""Exports a trained run as a SavedModel, to CTranslate2, as a smaller run, or as a web page."""

from collections.abc import Callable
from dataclasses import dataclass
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
from keras_transformer.inference.options import TEXT_OPTIONS


@dataclass(frozen=True)
class _Target:
    write: Callable[..., None]  # (arguments, path, search options) -> None
    folder: str  # or file, below RUN/exported
    help: str = ""
    quantization: bool = False
    search: bool = False  # a SavedModel fixes the search; the others search when they translate


def _write_saved_model(arguments, folder, options):
    from keras_transformer.export.saved_model import export_saved_model

    translate = kt.Translate.from_run(arguments.run, **load_options(arguments))
    export_saved_model(translate, folder, arguments.overwrite, **options)


def _write_ctranslate2(arguments, folder, options):
    from keras_transformer.export.ctranslate2 import export_ctranslate2

    translate = kt.Translate.from_run(arguments.run, **load_options(arguments))
    export_ctranslate2(translate, folder, arguments.overwrite, arguments.quantization)


def _write_float16(arguments, folder, options):
    from keras_transformer.export.float16 import export_float16

    export_float16(arguments.run, folder, arguments.overwrite, **load_options(arguments))


def _write_page(arguments, path, options):
    from keras_transformer.pages.translator_page import export_run_page

    weights = load_options(arguments)
    export_run_page(arguments.run, path, arguments.overwrite, arguments.quantization, **weights)


TARGETS = {
    "saved_model": _Target(_write_saved_model, "saved_model/1", search=True),
    "ctranslate2": _Target(_write_ctranslate2, "ctranslate2", quantization=True),
    "float16": _Target(
        _write_float16, "float16", "a run folder of half the size without checkpoints"
    ),
    "page": _Target(
        _write_page,
        "translator.html",
        "one HTML file that translates in the browser and shows how",
        quantization=True,
    ),
}


def add_arguments(parser):
    """Adds the run, the export format and its options."""
    add_run(parser)
    add_weights(parser)
    formats = [f"{name}, {x.help}" if x.help else name for name, x in TARGETS.items()]
    parser.add_argument(
        "--to",
        choices=TARGETS,
        required=True,
        help=f"export format: {'; '.join(formats)} (required)",
    )
    paths = ", ".join(f"RUN/exported/{target.folder}" for target in TARGETS.values())
    parser.add_argument(
        "--output", help=f"output folder, or file of the page (default: one of {paths})"
    )
    parser.add_argument(
        "--quantization",
        choices=["int8"],
        help=f"number type, {_only('quantization')} (default: float32, in a page float16)",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="overwrite an existing export (default: refuse)"
    )
    # A SavedModel is deterministic and returns one translation.
    without = ("n_best", "temperature", "top_k", "top_p", "seed", *TEXT_OPTIONS)
    add_search_options(parser, without=without)


def run(arguments):
    """Exports the run and prints the output path."""
    target = TARGETS[arguments.to]
    if arguments.quantization and not target.quantization:
        raise ValueError(f"--quantization requires {_only('quantization')}")
    flags = given_search_flags(arguments)
    if flags and not target.search:
        raise ValueError(
            f"{flags[0]} requires {_only('search')}: the other formats take search options at "
            "translation time"
        )
    options = search_options(arguments)
    import_backend()
    folder = Path(arguments.output or Path(arguments.run, "exported", target.folder))
    try:
        target.write(arguments, folder, options)
    except RuntimeError as error:  # wrong backend, or CTranslate2's converter failed
        raise ValueError(str(error)) from error
    print(f'Written to {folder}. For usage, see "Exports" in docs/overview.md.')


def _only(option):
    """Returns the flag of the formats that take an option."""
    return "--to " + " or ".join(name for name, x in TARGETS.items() if getattr(x, option))
