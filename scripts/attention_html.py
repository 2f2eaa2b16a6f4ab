"""Writes what a translator attends to in a sentence, or a BERT in a text, as a page to look at."""

import argparse


def make_parser():
    parser = argparse.ArgumentParser(
        prog="attention_html.py",
        description=__doc__,
        usage="%(prog)s RUN SENTENCE | --bert FOLDER TEXT [SECOND]  [--output PAGE]",
    )
    parser.add_argument("texts", nargs="+", help="folder of the run and a sentence; or the texts")
    parser.add_argument(
        "--bert", metavar="FOLDER", help="a BERT, see `read_bert`: one or two texts"
    )
    parser.add_argument("--output", metavar="PAGE", default="attention.html", help="the page")
    return parser


def main():
    parser = make_parser()
    arguments = parser.parse_intermixed_args()  # options may stand between
    if arguments.bert is None and len(arguments.texts) != 2:
        parser.error("give the folder of a run and one sentence")
    if arguments.bert is not None and len(arguments.texts) > 2:
        parser.error("give one text or two")
    try:
        from keras_transformer.pages.attention_page import write_attention_page

        views, title = bert_views(arguments) if arguments.bert else run_views(arguments)
        write_attention_page(arguments.output, views, title)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    print(arguments.output)


def run_views(arguments):
    from keras_transformer.inference.translate import Translate
    from keras_transformer.pages.attention_page import translation_views

    folder, sentence = arguments.texts
    translate = Translate.from_run(folder)
    hypothesis = translate.hypotheses(sentence)[0][0]
    return translation_views(translate, hypothesis), f"{sentence} → {hypothesis.text}"


def bert_views(arguments):
    from keras_transformer.inference.tasks import read_bert
    from keras_transformer.pages.attention_page import text_views

    model, tokenizer = read_bert(arguments.bert)
    return text_views(model, tokenizer, *arguments.texts), " | ".join(arguments.texts)


if __name__ == "__main__":
    main()
