"""Averages the weights of the last epochs of a run (trained with --keep-weights)."""

import argparse
import shlex

from keras_transformer.runs.folder import RunFolder
from keras_transformer.training.averaging import average_weights


def main():
    parser = argparse.ArgumentParser(prog="average_checkpoints.py", description=__doc__)
    parser.add_argument("run", help="folder of the run")
    parser.add_argument("--last", type=int, default=10, help="number of epochs (default: 10)")
    parser.add_argument("--name", default="average", help="of the result (default: average)")
    arguments = parser.parse_args()
    run = RunFolder(arguments.run)
    files = run.epoch_weights()
    try:
        if not 1 <= arguments.last <= len(files):
            raise ValueError(
                f"{run.path} keeps the weights of {len(files)} epochs: train with --keep-weights. "
                f"Received: --last {arguments.last}"
            )
        average_weights(files[-arguments.last :], run.weights_file(arguments.name))
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    folder = shlex.quote(str(run.path))
    print(f"python scripts/evaluate.py {folder} --weights {shlex.quote(arguments.name)}")


if __name__ == "__main__":
    main()
