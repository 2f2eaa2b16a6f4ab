"""Prints BLEU and chrF of a run on its test part."""

import argparse

from keras_transformer.training.run import evaluate_run


def main():
    parser = argparse.ArgumentParser(prog="evaluate.py", description=__doc__)
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("--beam", type=int, default=1, help="hypotheses kept (default: 1, greedy)")
    arguments = parser.parse_args()
    try:
        scores, translations = evaluate_run(arguments.run, beam_size=arguments.beam)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    print(f"{arguments.run}: {len(translations):,} test sentences\n{scores}")


if __name__ == "__main__":
    main()
