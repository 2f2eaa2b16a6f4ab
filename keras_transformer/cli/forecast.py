"""Trains a forecaster on a time series: a column of a CSV file or the Fibonacci numbers."""

import keras_transformer as kt
from keras_transformer.cli.arguments import add_data_limits, add_seed, integer
from keras_transformer.cli.startup import import_backend
from keras_transformer.runs.training_settings import MAX_EPOCHS

DEFAULTS = {
    "fibonacci": {"units": 2, "steps": 20, "epochs": 30},
    "csv": {"units": 3, "steps": 12, "epochs": 20},
}


def add_arguments(parser):
    """Adds the time series, the model size and the training options."""
    parser.add_argument(
        "--csv",
        help="CSV file with a header row (default: none, use the first 1,200 Fibonacci numbers)",
    )
    parser.add_argument("--column", help="name of the column to forecast (default: the last one)")
    add_data_limits(parser)
    parser.add_argument(
        "--attention", action="store_true", help="attend to all hidden states (default: the last)"
    )
    _add_size(parser, "units", "size of the hidden state", 2**16)
    _add_size(parser, "steps", "length of the input window", 2**16)
    _add_size(parser, "epochs", "number of training epochs", MAX_EPOCHS)
    add_seed(parser)
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="image file to write: test part and predictions (.png, .svg, .pdf; default: none)",
    )


def _add_size(parser, name, description, greatest):
    fibonacci, csv = (DEFAULTS[series][name] for series in ("fibonacci", "csv"))
    parser.add_argument(
        f"--{name}",
        type=integer(1, greatest),
        metavar="INT",
        help=f"{description} (default: {fibonacci}; with --csv: {csv})",
    )


def run(arguments):
    """Trains a forecaster and prints its training and test errors, and those of a simple guess."""
    if not arguments.csv and (arguments.column or arguments.data_limits != 1):
        raise ValueError("--column and --data-limits require --csv")
    _set_defaults(arguments)
    training, test = _split_file(arguments) if arguments.csv else _split_fibonacci(arguments.steps)
    import_backend(tuned=True)
    if arguments.plot:
        from keras_transformer.plotting._figures import image_format

        image_format(arguments.plot)  # refuses what could not be written after the training

    import keras

    keras.utils.set_random_seed(arguments.seed)
    model = kt.Forecaster(arguments.units, arguments.steps, arguments.attention)
    _fit(model, *training, arguments.epochs)
    print(f"{model.count_params()} parameters")
    _print_errors("training", model, *training)
    predicted = _print_errors("test", model, *test)
    if arguments.plot:
        guess = {"like the last value": test[0][:, -1], "predicted": predicted}
        label = f"test window ({arguments.steps} values each)"
        kt.plot_forecast(test[1], guess, arguments.plot, label)
        print(f"wrote {arguments.plot}")


def _set_defaults(arguments):
    for name, default in DEFAULTS["csv" if arguments.csv else "fibonacci"].items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)


def _split_file(arguments):
    """Returns non-overlapping windows of the first 80% of a file and of the rest."""
    from keras_transformer.data.series import make_windows, read_series, scale

    series = scale(read_series(arguments.csv, arguments.column, arguments.data_limits))
    cut, steps = int(0.8 * len(series)), arguments.steps
    return [make_windows(part, steps, stride=steps) for part in (series[:cut], series[cut:])]


def _split_fibonacci(steps):
    """Returns a random 70% of the windows and the rest.

    The split is random because, after scaling, all numbers but the last few are close to 0.
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
    steps = 1 if keras.config.backend() == "torch" else 16  # PyTorch takes one step at a time
    model.compile(keras.optimizers.Adam(schedule), "mse", steps_per_execution=steps)
    model.fit(windows, targets, batch_size=1, epochs=epochs, verbose=0)


def _print_errors(part, model, windows, targets):
    """Prints the errors of the model and of the guess "like the last"; returns the predictions."""
    predicted = model.predict(windows, verbose=0)
    error, simple = (((x - targets) ** 2).mean() for x in (predicted, windows[:, -1]))
    print(
        f"{part}: {len(targets)} windows, MSE {error:.3g}, RMSE {error**0.5:.3f} "
        f"(like the last value: {simple:.3g}, {simple**0.5:.3f})"
    )
    return predicted
