"""Learns to foretell a series: a column of a CSV file, or 1200 Fibonacci numbers."""

import argparse

import numpy as np

import keras_transformer as kt
from keras_transformer.data.series import fibonacci, make_windows, read_series, scale
from keras_transformer.training.process import tune_process


def parse_arguments(parser):
    parser.add_argument("--csv", help="a file whose first line names the columns")
    parser.add_argument("--column", help="name of the column (default: the last one)")
    parser.add_argument("--attention", action="store_true", help="attend to all states")
    parser.add_argument("--units", type=int, default=2, help="default: 2; of a file 3")
    parser.add_argument("--steps", type=int, default=20, help="default: 20; of a file 12")
    parser.add_argument("--epochs", type=int, default=30, help="default: 30; of a file 20")
    parser.add_argument("--seed", type=int, default=0, help="of the weights (default: 0)")
    if parser.parse_args().csv:
        parser.set_defaults(units=3, steps=12, epochs=20)
    return parser.parse_args()


def split_file(path, column, steps):
    """Windows without overlap of the first 80% of a file, and of the rest."""
    series = scale(read_series(path, column))
    cut = int(0.8 * len(series))
    return [make_windows(part, steps, stride=steps) for part in (series[:cut], series[cut:])]


def split_fibonacci(steps):
    """70% of all windows, drawn at random, and the rest: only the last numbers are not nearly 0."""
    windows = make_windows(scale(fibonacci(1200)), steps)
    order = np.random.RandomState(13).permutation(len(windows[0]))
    return [[x[part] for x in windows] for part in np.split(order, [int(0.7 * len(order))])]


def main():
    parser = argparse.ArgumentParser(prog="forecast.py", description=__doc__)
    args = parse_arguments(parser)
    tune_process()  # before Keras is imported

    import keras

    keras.utils.set_random_seed(args.seed)
    try:
        model = kt.Forecaster(args.units, args.steps, args.attention)
        of_file = args.csv and split_file(args.csv, args.column, args.steps)
        parts = of_file or split_fibonacci(args.steps)
        rate = keras.optimizers.schedules.CosineDecay(0.01, args.epochs * len(parts[0][0]))
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    model.compile(keras.optimizers.Adam(rate), "mse", steps_per_execution=16)
    model.fit(*parts[0], batch_size=1, epochs=args.epochs, verbose=0)
    print(f"{model.count_params()} parameters")
    for name, (windows, targets) in zip(("training", "test"), parts, strict=True):
        error = np.mean((model.predict(windows, verbose=0) - targets) ** 2)
        print(f"{name}: {len(targets)} windows, MSE {error:.3g}, RMSE {error**0.5:.3f}")


if __name__ == "__main__":
    main()
