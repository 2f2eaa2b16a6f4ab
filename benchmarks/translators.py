"""Compares translators with and without recurrence that were trained on the same data.

python scripts/train.py --model bahdanau --run runs/bahdanau
python scripts/train.py --model luong --run runs/luong
python scripts/train.py --run runs/transformer
python benchmarks/translators.py runs/bahdanau runs/luong runs/transformer
"""

import argparse

from keras_transformer import RunFolder, Translate, evaluate_run, plot_alignments

SENTENCE = "My brother wants to buy a new car tomorrow."


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", help="run folders of the same data")
    parser.add_argument("--sentence", default=SENTENCE, help="sentence to plot the alignments of")
    parser.add_argument("--picture", default="docs/alignments.png", help="path of the figure")
    return parser.parse_args()


def print_row(folder):
    run = RunFolder(folder)
    history = run.read_history()
    best = min(history, key=lambda row: row["validation_loss"])
    minutes = sum(row["seconds"] for row in history) / 60
    scores, _ = evaluate_run(folder, beam_size=4)
    print(
        f"| {run.path.name} | {run.read_model().count_params():,} | {len(history)} | {minutes:.1f} "
        f"| {best['validation_loss']:.2f} (epoch {best['epoch']:.0f}) "
        f"| {scores.bleu:.1f} | {scores.chrf:.1f} |",
        flush=True,
    )


def draw(folders, sentence, path):
    best = {}
    for folder in folders:
        hypotheses = Translate.from_run(folder).hypotheses(sentence, return_attention=True)
        best[RunFolder(folder).path.name] = hypotheses[0][0]
    plot_alignments(best, path)


def main():
    arguments = read_arguments()
    print("| run | parameters | epochs | minutes | best validation loss | BLEU, beam 4 | chrF |")
    print("|---|---|---|---|---|---|---|")
    for folder in arguments.runs:
        print_row(folder)
    draw(arguments.runs, arguments.sentence, arguments.picture)


if __name__ == "__main__":
    main()
