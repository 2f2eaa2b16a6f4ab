"""Writes a trained run for TensorFlow Serving or for CTranslate2."""

import argparse
from pathlib import Path

KINDS = {"saved_model": "saved_model/1", "ctranslate2": "ctranslate2"}


def make_parser():
    parser = argparse.ArgumentParser(prog="export.py", description=__doc__)
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("--weights", default="best", help="best, average, epoch-0012, …")
    parser.add_argument(
        "--to", choices=KINDS, required=True, help="what reads it (of a run with BPE: ctranslate2)"
    )
    parser.add_argument("--output", help="folder to write (default: in the run's folder exported/)")
    parser.add_argument(
        "--beam", type=int, help="hypotheses kept (saved_model; default: 1, greedy)"
    )
    parser.add_argument("--quantization", choices=["int8"], help="of the weights (ctranslate2)")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier export")
    return parser


def export(arguments, folder):
    from keras_transformer.inference.translate import Translate

    translate = Translate.from_run(arguments.run, arguments.weights)
    if arguments.to == "saved_model":
        from keras_transformer.export.saved_model import export_saved_model

        options = {} if arguments.beam is None else {"beam_size": arguments.beam}
        export_saved_model(translate, folder, arguments.overwrite, **options)
    else:
        from keras_transformer.export.ctranslate2 import export_ctranslate2

        export_ctranslate2(translate, folder, arguments.overwrite, arguments.quantization)


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    if arguments.to == "saved_model" and arguments.quantization:
        parser.error("--quantization is for ctranslate2")
    if arguments.to == "ctranslate2" and arguments.beam is not None:
        parser.error("--beam is for saved_model: CTranslate2 is told when it translates")
    folder = Path(arguments.output or Path(arguments.run, "exported", KINDS[arguments.to]))
    try:
        export(arguments, folder)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    print(f"Written to {folder}. How to use it: docs/overview.md, Exports")


if __name__ == "__main__":
    main()
