"""Prints BLEU and chrF of a run on its test part."""

import argparse

from keras_transformer.training.run import evaluate_run


def main():
    parser = argparse.ArgumentParser(prog="evaluate.py", description=__doc__)
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("--beam", type=int, default=1, help="hypotheses kept (default: 1, greedy)")
    parser.add_argument("--length-penalty", type=float, default=0.6, help="exponent (default: .6)")
    parser.add_argument("--weights", default="best", help="best, average, epoch-0012, …")
    parser.add_argument("--tokenize", default="13a", help="of BLEU: none for tokenized text")
    arguments = parser.parse_args()
    try:
        scores, translations = evaluate_run(
            arguments.run,
            arguments.weights,
            arguments.tokenize,
            beam_size=arguments.beam,
            length_penalty=arguments.length_penalty,
        )
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    print(f"{arguments.run}: {len(translations):,} test sentences\n{scores}")


if __name__ == "__main__":
    main()
