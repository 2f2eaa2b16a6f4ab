"""Translates sentences from arguments, a file or standard input with a trained run."""

import contextlib
import itertools
import os
import sys
from pathlib import Path

import keras_transformer as kt
from keras_transformer._utils.command_line import command_line
from keras_transformer._utils.files import atomic_replace
from keras_transformer.cli.arguments import (
    add_engine,
    add_ensemble,
    add_search_options,
    add_weights,
    engine_options,
    load_options,
    search_options,
)
from keras_transformer.cli.startup import import_backend
from keras_transformer.data.corpus import bundled_run_path, default_run_path

# Number of sentences that are sorted by length and translated together. On a terminal it is 1, so
# that each translation is printed before the next prompt.
WINDOW = 4096


def add_arguments(parser):
    """Adds the run, the sentences, the attention plot and the search options."""
    parser.epilog = (
        "Without a run, the newest one below runs/ translates, or the bundled one if there is "
        "none: %(prog)s 'I am hungry.' "
        "With --n-best above 1, each output line is a score, a tab and a translation."
    )
    parser.add_argument(
        "run", nargs="?", help="folder of a trained run (default: the newest below runs/)"
    )
    add_weights(parser)
    add_ensemble(parser)
    parser.add_argument(
        "sentences", type=str, nargs="*", help="sentences to translate (default: standard input)"
    )
    parser.add_argument(
        "--file", help="text file with one sentence per line (default: standard input)"
    )
    parser.add_argument(
        "--document",
        metavar="LANGUAGE",
        help="translate --file as a whole document in this language, such as en: its suffix is "
        ".txt, .md, .srt or .html, and its lines and markup are kept (default: sentences)",
    )
    parser.add_argument(
        "--output",
        help="file for the translations, replaced when all are there (default: standard output)",
    )
    parser.add_argument(
        "--attention",
        metavar="PNG",
        help="plot the attention weights of one sentence to this file (default: no plot)",
    )
    add_engine(parser)
    add_search_options(parser)


def run(arguments):
    """Prints the translations, with scores if there are several per sentence."""
    _use_default_run(arguments)
    _check(arguments)
    options = search_options(arguments)
    document = _read_document(arguments, options)
    engine_options(arguments)  # checks them before the slow import
    _say(
        f"Loading {arguments.run}, engine {arguments.engine}; the first translation takes a few "
        "more seconds."
    )
    import_backend()
    translate = kt.Translate.from_run(arguments.run, **load_options(arguments))
    if arguments.run == bundled_run_path():
        _say(
            "This run was trained on the bundled corpus of simple sentences and knows "
            f"{translate.source_tokenizer.vocab_size:,} English words. To train another one: "
            f"{command_line('train', '--help')}"
        )
    with _output(arguments.output) as output:
        if document is not None:
            translations = translate(document.sentences, **options)
            output.write(document.translated(translations))
        else:
            _translate_sentences(translate, arguments, options, output)


def _translate_sentences(translate, arguments, options, output):
    for hypotheses, sentence in _stream(translate, arguments, options):
        for x in hypotheses:
            text = f"{x.score:.3f}\t{x.text}" if _with_scores(options) else x.text
            # Flushed, because a program reading from a pipe may be waiting for the line.
            print(text, file=output, flush=True)
        if sys.stdout.isatty() and (words := translate.source_tokenizer.unknown_words(sentence)):
            _say(f"  (unknown: {', '.join(words)})")
        if arguments.attention:
            kt.plot_attention(hypotheses[0], arguments.attention)


def _use_default_run(arguments):
    """Sets the default run if no run is given, or only a sentence."""
    run, alone = arguments.run, not (arguments.sentences or arguments.file)
    if run is not None and alone and "/" not in run and not Path(run).is_dir():
        arguments.sentences, run = [run], None
    arguments.run = run or default_run_path()


def _say(text):
    print(text, file=sys.stderr, flush=True)


def _check(arguments):
    if arguments.file and arguments.sentences:
        raise ValueError("give sentences or a file, not both")
    if arguments.attention and len(arguments.sentences) != 1:
        raise ValueError("--attention plots one sentence: give exactly one as an argument")
    if arguments.document and not arguments.file:
        raise ValueError("--document LANGUAGE requires --file")
    if arguments.file and not arguments.document:
        os.stat(arguments.file)  # a missing file is found before the model is loaded


def _read_document(arguments, options):
    """Returns the `Document` to translate, or None for single sentences."""
    if arguments.document is None:
        return None
    if _with_scores(options):
        raise ValueError("a document has one translation: leave --n-best out")
    from keras_transformer.data.documents import Document  # does not import Keras

    return Document.read(arguments.file, arguments.document)


@contextlib.contextmanager
def _output(path):
    """Yields standard output, or a file that replaces the one at `path` when it is complete."""
    if path is None:
        yield sys.stdout
        return
    if Path(path).is_dir():  # before hours of translating
        raise IsADirectoryError(f"--output must be a file. Received: the folder {path}")
    with atomic_replace(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as x:
        yield x


def _stream(translate, arguments, options):
    """Yields the hypotheses of each sentence, and the sentence; shows progress through a file."""
    from keras_transformer.cli.lines import decode_arguments, progress, read_lines

    lines = decode_arguments(arguments.sentences) or read_lines(arguments.file, "Sentence: ")
    lines, sentences = itertools.tee(lines)
    interactive = not arguments.sentences and not arguments.file and sys.stdin.isatty()
    if interactive:
        _say("Type a sentence; quit ends.")
    found = translate.stream(
        lines,
        window=1 if interactive else WINDOW,
        return_attention=bool(arguments.attention),
        return_scores=_with_scores(options),
        **options,
    )
    return zip(progress(found, arguments.file), sentences, strict=False)


def _with_scores(options):
    return options.get("n_best", 1) > 1
