"""Translates a large corpus, files of sentences, on all cores, GPUs or machines with Ray."""

import sys

from keras_transformer.cli.arguments import (
    add_data_limits,
    add_engine,
    add_run,
    add_search_options,
    add_weights,
    engine_options,
    integer,
    search_options,
)


def add_arguments(parser):
    """Adds the run, the shards, the output folder, the number of workers and the search options."""
    parser.epilog = (
        "Each shard becomes a file of the same name and with the same number of lines. A second "
        "start translates only what is missing. Ray starts on this machine; with the environment "
        "variable RAY_ADDRESS, its cluster is used. It needs the extra [ray]."
    )
    add_run(parser)
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="SHARD",
        help="file of sentences, or folder of such files: text with one sentence per line, .tsv, "
        "both also compressed (.gz), or .parquet",
    )
    parser.add_argument(
        "--output", required=True, metavar="FOLDER", help="folder for the translations"
    )
    add_weights(parser)
    parser.add_argument(
        "--column",
        help="column with the sentences: a number for .tsv, a name for .parquet (default: the "
        "first, or the only one of text)",
    )
    parser.add_argument(
        "--scores",
        action="store_true",
        help="write a score and a tab before each translation, as with --n-best above 1 (default: "
        "translations only)",
    )
    parser.add_argument(
        "--actors",
        type=integer(1),
        metavar="INT",
        help="number of workers, each with the model and one core or GPU (default: one per GPU, "
        "or per core without GPUs)",
    )
    add_data_limits(parser)
    add_engine(parser)
    add_search_options(parser)


def run(arguments):
    """Translates the shards and prints their number."""
    options, engine = search_options(arguments), engine_options(arguments)
    from keras_transformer.bulk.corpus import translate_corpus

    print(f"Translating with {arguments.run}, engine {arguments.engine}.", file=sys.stderr)
    shards, untranslated, report = translate_corpus(
        arguments.run,
        arguments.inputs,
        arguments.output,
        weights=arguments.weights,
        model=arguments.model,
        column=arguments.column,
        with_scores=arguments.scores or options.get("n_best", 1) > 1,
        actors=arguments.actors,
        data_limits=arguments.data_limits,
        **engine,
        **options,
    )
    print(f"{shards:,} shards in {arguments.output}")
    if untranslated:
        print(f"{untranslated:,} lines were not translated and are empty: {report}")
