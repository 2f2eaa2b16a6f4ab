"""Writes an HTML page that shows the attention weights of a translator or a BERT."""

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_search_options,
    add_weights,
    given_search_flags,
    load_options,
    search_options,
)
from keras_transformer.cli.startup import import_backend


def add_arguments(parser):
    """Adds the texts, the model, the output file and the search options."""
    parser.usage = (
        "%(prog)s RUN SENTENCE [options]\n       %(prog)s --bert FOLDER TEXT [TEXT] [options]"
    )
    parser.add_argument(
        "texts",
        type=str,
        nargs="+",
        help="folder of a trained run and a sentence; with --bert, one or two texts",
    )
    parser.add_argument(
        "--bert",
        metavar="FOLDER",
        help="folder of a BERT, trained with train-bert or published (default: none, use a run)",
    )
    parser.add_argument(
        "--output",
        metavar="PAGE",
        default="attention.html",
        help="output file (default: %(default)s)",
    )
    add_weights(parser, default=None)  # None tells a missing flag, which --bert requires
    add_search_options(parser, without=("n_best",))  # the page shows one translation


def run(arguments):
    """Writes the page and prints its path."""
    _check(arguments)
    options = search_options(arguments)
    import_backend()
    if arguments.bert is None:
        views, title = _run_views(arguments, options)
    else:
        views, title = _bert_views(arguments)
    kt.write_attention_page(arguments.output, views, title)
    print(arguments.output)


def _check(arguments):
    if arguments.bert is None and len(arguments.texts) != 2:
        raise ValueError("give the folder of a run and one sentence")
    if arguments.bert is not None and len(arguments.texts) > 2:
        raise ValueError("give one or two texts")
    flags = [f"--{name}" for name in ("weights", "model") if getattr(arguments, name)]
    flags += given_search_flags(arguments)
    if arguments.bert is not None and flags:
        raise ValueError(f"{flags[0]} cannot be combined with --bert: leave out one of them")


def _run_views(arguments, options):
    from keras_transformer.cli.lines import decode_arguments

    folder, *sentences = arguments.texts
    (sentence,) = decode_arguments(sentences)  # not the folder: paths keep their bytes
    translate = kt.Translate.from_run(folder, **load_options(arguments))
    hypothesis = translate.hypotheses(sentence, **options)[0][0]
    return kt.translation_views(translate, hypothesis), f"{sentence} → {hypothesis.text}"


def _bert_views(arguments):
    from keras_transformer.cli.lines import decode_arguments

    texts = decode_arguments(arguments.texts)
    model, tokenizer = kt.read_bert(arguments.bert)
    return kt.text_views(model, tokenizer, *texts), " | ".join(texts)
