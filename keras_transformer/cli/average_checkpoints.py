"""Averages the weights of the last epochs of a run trained with --keep-weights."""

import keras_transformer as kt
from keras_transformer._utils.command_line import command_line
from keras_transformer.cli.arguments import add_number, add_run, integer
from keras_transformer.cli.startup import import_backend


def add_arguments(parser):
    """Adds the run, the number of epochs and the name of the averaged weights."""
    add_run(parser)
    description = "number of epochs to average, counted from the last"
    add_number(parser, "--last", integer(1), 10, description)
    parser.add_argument(
        "--name", default="average", help="name of the averaged weights (default: %(default)s)"
    )


def run(arguments):
    """Saves the averaged weights and prints the command that evaluates them."""
    if arguments.name == "best" or arguments.name.startswith("epoch-"):
        raise ValueError(
            "The run has weights of this kind itself: give another --name. "
            f"Received: {arguments.name}"
        )
    import_backend()
    from keras_transformer.training.averaging import average_weights

    run_folder = kt.RunFolder(arguments.run)
    files = run_folder.epoch_weights()
    if not files:
        raise ValueError(
            f"{run_folder.path} has kept no weights of its epochs: train a new run with "
            f"--keep-weights {arguments.last}. Received: --last {arguments.last}"
        )
    if arguments.last > len(files):
        raise ValueError(
            f"{run_folder.path} has the weights of {len(files)} epochs: lower --last, or train "
            f"with a higher --keep-weights. Received: --last {arguments.last}"
        )
    average_weights(files[-arguments.last :], run_folder.weights_file(arguments.name))
    print(command_line("evaluate", run_folder.path, "--weights", arguments.name))
