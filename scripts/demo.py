"""Serves a page on this machine: type a sentence, see its translations and the attention."""

import argparse


def make_parser():
    parser = argparse.ArgumentParser(prog="demo.py", description=__doc__)
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("--weights", default="best", help="best, average, epoch-0012, …")
    parser.add_argument("--beam", type=int, default=4, help="hypotheses kept (default: 4)")
    parser.add_argument("--n-best", type=int, help="shown (default: 4, or all that are kept)")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen at (default: 127.0.0.1, for this machine alone; 0.0.0.0 answers "
        "everyone who can reach it)",
    )
    parser.add_argument(
        "--port", type=int, default=8000, help="its port (default: 8000; 0: any free one)"
    )
    return parser


def main():
    parser = make_parser()
    arguments = parser.parse_args()
    try:
        serve_run(arguments)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    except KeyboardInterrupt:
        print("\nStopped.")


def serve_run(arguments):
    print(f"Loading {arguments.run}; the first translation takes some seconds more.", flush=True)

    from keras_transformer.inference.translate import Translate
    from keras_transformer.pages.demo import serve  # takes seconds: tell first

    translate = Translate.from_run(arguments.run, arguments.weights)
    n_best = min(4, arguments.beam) if arguments.n_best is None else arguments.n_best
    options = {"name": arguments.run, "beam_size": arguments.beam, "n_best": n_best}
    serve(translate, arguments.host, arguments.port, **options)


if __name__ == "__main__":
    main()
