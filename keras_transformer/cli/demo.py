"""Opens a web page that translates what is typed and shows how."""

import tempfile
import webbrowser
from pathlib import Path

from keras_transformer.cli.arguments import add_weights, load_options
from keras_transformer.cli.startup import import_backend
from keras_transformer.data.corpus import default_run_path


def add_arguments(parser):
    """Adds the run and its weights."""
    parser.add_argument(
        "run",
        nargs="?",
        help="folder of a trained run (default: the newest below runs/, or the bundled one)",
    )
    add_weights(parser)


def run(arguments):
    """Writes the page to a temporary file, opens it in the browser and prints its path."""
    import_backend()
    from keras_transformer.pages.translator_page import export_run_page

    path = Path(tempfile.mkdtemp(prefix="keras-transformer-"), "translator.html")
    export_run_page(arguments.run or default_run_path(), path, **load_options(arguments))
    opened = "Opened" if webbrowser.open(path.as_uri()) else "Open this page in a browser:"
    print(f"{opened} {path}")
