"""Translates sentences with a trained run: arguments, lines of a file or standard input."""

import sys

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_run,
    add_search_options,
    add_weights,
    search_options,
)

# Sentences that are sorted by length and translated together. A terminal takes one: each
# translation is printed before the next sentence is typed.
WINDOW = 4096


def add_arguments(parser):
    """Adds the run, the sentences, the drawing and the search options."""
    parser.epilog = "With --n-best above 1, each line has the score, a tab and the translation."
    add_run(parser)
    add_weights(parser)
    parser.add_argument("sentences", nargs="*", help="sentences (default: standard input)")
    parser.add_argument(
        "--file", help="text file with one sentence a line (default: standard input)"
    )
    parser.add_argument(
        "--attention",
        metavar="PNG",
        help="draw the attention weights of one sentence to a file (default: no drawing)",
    )
    add_search_options(parser)


def run(arguments):
    """Prints the translations; with several per sentence, also their scores."""
    _check(arguments)
    options = search_options(arguments)
    print(
        f"Loading {arguments.run}; the first translation takes some seconds more.",
        file=sys.stderr,
        flush=True,
    )
    translate = kt.Translate.from_run(arguments.run, arguments.weights)
    for hypotheses in _stream(translate, arguments, options):
        _print(hypotheses, with_scores=options.get("n_best", 1) > 1)
        if arguments.attention:
            kt.plot_attention(hypotheses[0], arguments.attention)


def _check(arguments):
    if arguments.file and arguments.sentences:
        raise ValueError("give sentences or a file, not both")
    if arguments.attention and len(arguments.sentences) != 1:
        raise ValueError("--attention draws one sentence: give one as an argument")


def _stream(translate, arguments, options):
    """Yields the hypotheses of each sentence and shows the progress in a file."""
    from keras_transformer.cli.lines import progress, read_lines

    lines = arguments.sentences or read_lines(arguments.file, "Sentence: ")
    typed = not arguments.sentences and not arguments.file and sys.stdin.isatty()
    found = translate.stream(
        lines,
        window=1 if typed else WINDOW,
        return_attention=bool(arguments.attention),
        **options,
    )
    return progress(found, arguments.file)


def _print(hypotheses, with_scores):
    for hypothesis in hypotheses:
        text = f"{hypothesis.score:.3f}\t{hypothesis.text}" if with_scores else hypothesis.text
        print(text, flush=True)  # a reader at the other end of a pipe may wait for it
