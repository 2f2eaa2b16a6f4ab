"""Translates the test set of a run, or a file, and prints BLEU, chrF and exact translations."""

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_engine,
    add_ensemble,
    add_run,
    add_search_options,
    add_weights,
    engine_options,
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
    parser.add_argument(
        "--report",
        metavar="HTML",
        help="write a page with intervals, scores by length and unknown words and the worst "
        "sentences, and the same as .json beside it (default: none)",
    )
    parser.add_argument(
        "--against", metavar="RUN", help="compare with another run in the report (default: none)"
    )
    add_engine(parser)
    add_search_options(parser, without=("n_best",))  # only the best translation is scored


def run(arguments):
    """Translates the test set and prints its scores."""
    options = search_options(arguments)
    if arguments.against and not arguments.report:
        raise ValueError("--against compares in a report: give --report FILE.html, too")
    from keras_transformer.evaluation import check_tokenize

    check_tokenize(arguments.tokenize)
    engine = engine_options(arguments)
    import_backend()
    if arguments.report:
        _write_report(arguments, engine, options)
        return
    scores, translations = kt.evaluate_run(
        arguments.run,
        tokenize=arguments.tokenize,
        test=arguments.test,
        **load_options(arguments),
        **options,
    )
    sentences = f"{len(translations):,} sentences of {arguments.test or 'the test part'}"
    print(f"{arguments.run}: {sentences}, engine {arguments.engine}\n{scores}")


def _write_report(arguments, engine, options):
    from keras_transformer.pages.report_page import report_files, write_report
    from keras_transformer.training.report import make_report
    from keras_transformer.training.run import test_rows

    report_files(arguments.report)  # refuses a wrong path before the translation
    loading = load_options(arguments)
    translate = kt.Translate.from_run(arguments.run, **loading)
    engine["make_model"] = loading["make_model"]
    against = kt.Translate.from_run(arguments.against, **engine) if arguments.against else None
    rows = test_rows(arguments.run, arguments.test)
    report = make_report(translate, rows, arguments.tokenize, against, **options)
    title = f"{arguments.run} on {arguments.test or 'its test part'}"
    title += f", compared with {arguments.against}" if against else ""
    write_report(arguments.report, report, title)
    for name, x in report["scores"].items():
        other = f", {arguments.against} {x['other']:.1f} (p = {x['p']:.3f})" if against else ""
        print(f"{name} {x['score']:.1f} (95% interval {x['low']:.1f} to {x['high']:.1f}){other}")
    print(f"Written to {arguments.report}")
