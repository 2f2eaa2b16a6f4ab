"""Translates sentences from arguments, a file or standard input with a trained run."""

import sys

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_run,
    add_search_options,
    add_weights,
    search_options,
)
from keras_transformer.cli.startup import import_backend

# Number of sentences that are sorted by length and translated together. On a terminal it is 1, so
# that each translation is printed before the next prompt.
WINDOW = 4096


def add_arguments(parser):
    """Adds the run, the sentences, the attention plot and the search options."""
    parser.epilog = "With --n-best above 1, each output line is a score, a tab and a translation."
    add_run(parser)
    add_weights(parser)
    parser.add_argument(
        "sentences", nargs="*", help="sentences to translate (default: standard input)"
    )
    parser.add_argument(
        "--file", help="text file with one sentence per line (default: standard input)"
    )
    parser.add_argument(
        "--attention",
        metavar="PNG",
        help="plot the attention weights of one sentence to this file (default: no plot)",
    )
    add_search_options(parser)


def run(arguments):
    """Prints the translations, with scores if there are several per sentence."""
    _check(arguments)
    options = search_options(arguments)
    print(
        f"Loading {arguments.run}; the first translation takes a few more seconds.",
        file=sys.stderr,
        flush=True,
    )
    import_backend()
    translate = kt.Translate.from_run(arguments.run, arguments.weights)
    for hypotheses in _stream(translate, arguments, options):
        _print(hypotheses, with_scores=options.get("n_best", 1) > 1)
        if arguments.attention:
            kt.plot_attention(hypotheses[0], arguments.attention)


def _check(arguments):
    if arguments.file and arguments.sentences:
        raise ValueError("give sentences or a file, not both")
    if arguments.attention and len(arguments.sentences) != 1:
        raise ValueError("--attention plots one sentence: give exactly one as an argument")


def _stream(translate, arguments, options):
    """Yields the hypotheses of each sentence and shows progress through a file."""
    from keras_transformer.cli.lines import decode_arguments, progress, read_lines

    lines = decode_arguments(arguments.sentences) or read_lines(arguments.file, "Sentence: ")
    interactive = not arguments.sentences and not arguments.file and sys.stdin.isatty()
    found = translate.stream(
        lines,
        window=1 if interactive else WINDOW,
        return_attention=bool(arguments.attention),
        **options,
    )
    return progress(found, arguments.file)


def _print(hypotheses, with_scores):
    for hypothesis in hypotheses:
        text = f"{hypothesis.score:.3f}\t{hypothesis.text}" if with_scores else hypothesis.text
        print(text, flush=True)  # a program reading from a pipe may be waiting for the line
