"""Prints BLEU and chrF of a run on its test part."""

import argparse

from keras_transformer.training.run import evaluate_run


def main():
    parser = argparse.ArgumentParser(prog="evaluate.py", description=__doc__)
    parser.add_argument("run", help="folder of the run")
    arguments = parser.parse_args()
    try:
        scores, translations = evaluate_run(arguments.run)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    print(f"{arguments.run}: {len(translations):,} test sentences\n{scores}")


if __name__ == "__main__":
    main()
