"""Serves a page on this machine that translates sentences and shows the attention weights."""

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_run,
    add_search_options,
    add_weights,
    given_search_options,
    integer,
    search_options,
)

TRANSLATIONS = 4  # on the page, unless the user asks for another number


def add_arguments(parser):
    """Adds the run, the address and the search options."""
    add_run(parser)
    add_weights(parser)
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default: %(default)s, this machine only; 0.0.0.0: everyone "
        "who can reach this machine)",
    )
    parser.add_argument(
        "--port",
        type=integer(0, 65535),
        default=8000,
        metavar="INT",
        help="port to listen on (default: %(default)s; 0: any free port)",
    )
    add_search_options(
        parser,
        beam_size=f"{TRANSLATIONS}; 1 with sampling",
        n_best=f"{TRANSLATIONS}, or the size of a smaller beam",
    )


def run(arguments):
    """Serves the page until Ctrl-C, the usual end and no error."""
    options = search_options(arguments, **_defaults(arguments))
    print(f"Loading {arguments.run}; the first translation takes some seconds more.", flush=True)
    try:
        from keras_transformer.pages.demo import serve

        translate = kt.Translate.from_run(arguments.run, arguments.weights)
        serve(translate, arguments.host, arguments.port, name=arguments.run, **options)
    except KeyboardInterrupt:
        print("\nStopped.")


def _defaults(arguments):
    """Returns the search options that give several translations."""
    given = given_search_options(arguments)
    if given.get("temperature", 0) > 0:
        return {"n_best": TRANSLATIONS}
    beam_size = given.get("beam_size", TRANSLATIONS)
    return {"beam_size": beam_size, "n_best": min(TRANSLATIONS, beam_size)}
