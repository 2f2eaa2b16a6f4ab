"""Trains a forecaster of a series: a column of a CSV file, or 1200 Fibonacci numbers."""

import keras_transformer as kt
from keras_transformer.cli.arguments import add_seed, integer
from keras_transformer.training.process import tune_process

DEFAULTS = {
    "fibonacci": {"units": 2, "steps": 20, "epochs": 30},
    "csv": {"units": 3, "steps": 12, "epochs": 20},
}


def add_arguments(parser):
    """Adds the series and the sizes of model and training."""
    parser.add_argument(
        "--csv", help="CSV file whose first line names the columns (default: Fibonacci numbers)"
    )
    parser.add_argument("--column", help="name of the column (default: the last one)")
    parser.add_argument(
        "--attention",
        action="store_true",
        help="attend to all hidden states (default: read the last one)",
    )
    _add_size(parser, "units", "size of the hidden state")
    _add_size(parser, "steps", "numbers that the forecaster reads")
    _add_size(parser, "epochs", "number of epochs")
    add_seed(parser)


def _add_size(parser, name, description):
    fibonacci, csv = (DEFAULTS[series][name] for series in ("fibonacci", "csv"))
    parser.add_argument(
        f"--{name}",
        type=integer(1),
        metavar="INT",
        help=f"{description} (default: {fibonacci}; with --csv: {csv})",
    )


def run(arguments):
    """Trains a forecaster and prints its errors on both parts of the series."""
    tune_process()  # before Keras is imported
    _set_defaults(arguments)
    training, test = _read_windows(arguments)

    import keras

    keras.utils.set_random_seed(arguments.seed)
    model = kt.Forecaster(arguments.units, arguments.steps, arguments.attention)
    _fit(model, *training, arguments.epochs)
    print(f"{model.count_params()} parameters")
    _print_error("training", model, *training)
    _print_error("test", model, *test)


def _set_defaults(arguments):
    for name, default in DEFAULTS["csv" if arguments.csv else "fibonacci"].items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)


def _read_windows(arguments):
    """Returns the windows and targets of the training part, and of the test part."""
    if arguments.csv:
        return _split_file(arguments.csv, arguments.column, arguments.steps)
    return _split_fibonacci(arguments.steps)


def _split_file(path, column, steps):
    """Returns windows without overlap of the first 80% of a file, and of the rest."""
    from keras_transformer.data.series import make_windows, read_series, scale

    series = scale(read_series(path, column))
    cut = int(0.8 * len(series))
    return [make_windows(part, steps, stride=steps) for part in (series[:cut], series[cut:])]


def _split_fibonacci(steps):
    """Returns 70% of all windows, drawn at random, and the rest.

    Only the last numbers are not nearly 0, so the end of the series alone would be no test.
    """
    import numpy as np

    from keras_transformer.data.series import fibonacci, make_windows, scale

    windows, targets = make_windows(scale(fibonacci(1200)), steps)
    order = np.random.RandomState(13).permutation(len(windows))
    cut = int(0.7 * len(order))
    return [(windows[part], targets[part]) for part in (order[:cut], order[cut:])]


def _fit(model, windows, targets, epochs):
    import keras

    schedule = keras.optimizers.schedules.CosineDecay(0.01, epochs * len(windows))
    model.compile(keras.optimizers.Adam(schedule), "mse", steps_per_execution=16)
    model.fit(windows, targets, batch_size=1, epochs=epochs, verbose=0)


def _print_error(part, model, windows, targets):
    error = ((model.predict(windows, verbose=0) - targets) ** 2).mean()
    print(f"{part}: {len(targets)} windows, MSE {error:.3g}, RMSE {error**0.5:.3f}")
