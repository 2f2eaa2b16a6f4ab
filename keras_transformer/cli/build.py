"""Builds a Transformer step by step: writes a file to fill in, and checks it."""

from keras_transformer._utils.command_line import command_line
from keras_transformer.cli.arguments import add_seed, integer
from keras_transformer.cli.startup import import_backend

_FILE = "build_it.py"


def add_arguments(parser):
    """Adds the file and what to do with it."""
    parser.epilog = "The file has thirteen steps with empty bodies. It is never overwritten."
    parser.add_argument(
        "file", type=str, nargs="?", default=_FILE, help="the file (default: build_it.py)"
    )
    action = parser.add_mutually_exclusive_group()
    for name, description in (
        ("check", "check the steps one after another, and stop at the first wrong one"),
        ("hint", "print the next of three hints for the current step"),
        ("solution", "print the solution of the current step"),
        ("diff", "print the file beside the library's code"),
    ):
        text = f"{description} (default: write the file)"
        action.add_argument(f"--{name}", action="store_true", help=text)
    action.add_argument(
        "--train",
        type=integer(1, 10_000),
        metavar="SECONDS",
        nargs="?",
        const=120,
        help="train the finished file on the bundled corpus, and translate (default: %(const)s)",
    )
    add_seed(parser)


def run(arguments):
    """Writes the file, or does what an option asks."""
    import_backend()
    from keras_transformer.build_it import Exercise

    exercise = Exercise(arguments.file)
    if arguments.diff:
        print(exercise.compare())
    elif arguments.check or arguments.train:
        _check(exercise, arguments)
    elif arguments.hint or arguments.solution:
        i = exercise.check(exercise.load(), report=lambda line: None)
        help_with = exercise.solution if arguments.solution else exercise.hint
        print("All steps are right." if i is None else help_with(i))
    else:
        _create(exercise)


def _create(exercise):
    try:
        exercise.create()
    except FileExistsError:
        raise FileExistsError(
            f"{exercise.path} exists and was not changed: check it with --check, or give another "
            "name."
        ) from None
    print(
        f"Wrote {exercise.path}: replace the dots, from top to bottom, in any editor. After each "
        f"step: {_command(exercise, '--check')}"
    )


def _check(exercise, arguments):
    names = exercise.load()
    if exercise.check(names) is not None:
        print(f"\nFor a hint: {_command(exercise, '--hint')}")
    elif arguments.train:
        from keras_transformer.build_it.trial import train_and_translate

        train_and_translate(names, arguments.train, arguments.seed)
    else:
        again = _command(exercise, "--train")
        print(f"\nThis is a Transformer, and you wrote it. Train it: {again}")


def _command(exercise, flag):
    path = str(exercise.path)
    return command_line("build", *([] if path == _FILE else [path]), flag)
