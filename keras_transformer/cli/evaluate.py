"""Translates the test set of a run, or a file, and prints BLEU, chrF and exact translations."""

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_ensemble,
    add_run,
    add_search_options,
    add_weights,
    load_options,
    search_options,
)
from keras_transformer.cli.startup import import_backend


def add_arguments(parser):
    """Adds the run, the test file, the BLEU tokenizer and the search options."""
    add_run(parser)
    add_weights(parser)
    add_ensemble(parser)
    parser.add_argument(
        "--test",
        metavar="FILE",
        help="tab-separated file with a sentence and one or more references per line (default: the "
        "test part of the run)",
    )
    parser.add_argument(
        "--tokenize",
        help="sacrebleu tokenizer, or none if the data is already tokenized (default: 13a, or char "
        "for languages without spaces between words)",
    )
    add_search_options(parser, without=("n_best",))  # only the best translation is scored


def run(arguments):
    """Translates the test set and prints its scores."""
    options = search_options(arguments)
    from keras_transformer._utils.checks import check_choice
    from keras_transformer.evaluation import TOKENIZERS

    check_choice((None, *TOKENIZERS), tokenize=arguments.tokenize)
    import_backend()
    scores, translations = kt.evaluate_run(
        arguments.run,
        tokenize=arguments.tokenize,
        test=arguments.test,
        **load_options(arguments),
        **options,
    )
    sentences = f"{len(translations):,} sentences of {arguments.test or 'the test part'}"
    print(f"{arguments.run}: {sentences}\n{scores}")
