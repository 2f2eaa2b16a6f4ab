"""Translates sentences with a trained run: those given, or the lines of a file or of the input."""

import argparse
import sys


def make_parser():
    parser = argparse.ArgumentParser(prog="translate.py", description=__doc__)
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("--weights", default="best", help="best, average, epoch-0012, …")
    parser.add_argument("sentences", nargs="*", help="sentences (default: standard input)")
    parser.add_argument("--file", help="a text file, one sentence a line")
    parser.add_argument("--beam", type=int, default=1, help="hypotheses kept (default: 1, greedy)")
    parser.add_argument("--n-best", type=int, default=1, help="print so many, with their scores")
    parser.add_argument("--attention", metavar="PNG", help="draw what it looks at, of a sentence")
    return parser


def tell(text):
    print(text, file=sys.stderr, flush=True)


def main():
    parser = make_parser()
    arguments = parser.parse_intermixed_args()  # options may stand before the sentences
    if arguments.file and arguments.sentences:
        parser.error("give sentences or a file, not both")
    if arguments.attention and len(arguments.sentences) != 1:
        parser.error("--attention draws one sentence: give one as an argument")
    try:
        tell(f"Loading {arguments.run}; the first translation takes some seconds more.")
        translate_all(arguments)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "\n")


def translate_all(arguments):
    from keras_transformer.inference.lines import progress, read_lines  # takes seconds: tell first
    from keras_transformer.inference.translate import Translate
    from keras_transformer.plotting import plot_attention

    translate = Translate.from_run(arguments.run, arguments.weights)
    options = {"beam_size": arguments.beam, "n_best": arguments.n_best}
    options["return_attention"] = bool(arguments.attention)
    lines, window = arguments.sentences or read_lines(arguments.file, "Sentence: "), 4096
    if not arguments.sentences and not arguments.file and sys.stdin.isatty():
        window = 1  # a conversation
    for hypotheses in progress(translate.stream(lines, window, **options), arguments.file):
        for text, score, *_ in hypotheses:
            print(text if arguments.n_best == 1 else f"{score:.3f}\t{text}", flush=window == 1)
        if arguments.attention:
            plot_attention(hypotheses[0], arguments.attention)


if __name__ == "__main__":
    main()
