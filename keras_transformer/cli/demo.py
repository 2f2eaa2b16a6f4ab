"""Serves a local web page that translates sentences and shows the attention weights."""

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_run,
    add_search_options,
    add_weights,
    given_search_options,
    integer,
    load_options,
    search_options,
)
from keras_transformer.cli.startup import import_backend

TRANSLATIONS = 4  # default number of translations on the page


def add_arguments(parser):
    """Adds the run, the address and the search options."""
    add_run(parser)
    add_weights(parser)
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; 0.0.0.0 serves the whole network (default: %(default)s, this "
        "machine only)",
    )
    parser.add_argument(
        "--port",
        type=integer(0, 65535),
        default=8000,
        metavar="INT",
        help="port to listen on; 0 picks a free port (default: %(default)s)",
    )
    add_search_options(
        parser,
        beam_size=f"{TRANSLATIONS}, or 1 when sampling",
        n_best=f"{TRANSLATIONS}, or --beam if it is smaller",
    )


def run(arguments):
    """Serves the page until Ctrl-C, which exits with code 0."""
    options = search_options(arguments, **_defaults(arguments))
    print(f"Loading {arguments.run}; the first translation takes a few more seconds.", flush=True)
    try:
        import_backend()
        from keras_transformer.pages.demo import serve

        translate = kt.Translate.from_run(arguments.run, **load_options(arguments))
        serve(translate, arguments.host, arguments.port, name=arguments.run, **options)
    except KeyboardInterrupt:
        print("\nStopped.")


def _defaults(arguments):
    """Returns search options that return several translations."""
    given = given_search_options(arguments)
    if given.get("temperature", 0) > 0:
        return {"n_best": TRANSLATIONS}
    beam_size = given.get("beam_size", TRANSLATIONS)
    return {"beam_size": beam_size, "n_best": min(TRANSLATIONS, beam_size)}
