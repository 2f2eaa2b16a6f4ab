"""Trains a classifier of texts; without a file it learns to tell questions from statements."""

import argparse
from pathlib import Path

import numpy as np

import keras_transformer as kt
from keras_transformer.training.process import tune_process

SIZES = {"h": 4, "d_k": 32, "d_v": 32, "d_model": 128, "d_ff_inner": 512, "n": 2, "rate": 0.1}


def read_questions_without_marks():
    texts = kt.read_documents(Path(__file__).parents[1] / "data/english-german.tsv")
    return [(x.rstrip("?!."), "question" if "?" in x else "statement") for x in texts]


def make_bert(texts):
    tokenizer = kt.WordPieceTokenizer.train(texts)
    return kt.Bert(tokenizer.vocab_size, 64, **SIZES), tokenizer


def train(data, bert, run, epochs, learning_rate):
    import keras

    keras.utils.set_random_seed(0)
    examples = kt.read_pairs(data) if data else read_questions_without_marks()
    np.random.default_rng(0).shuffle(examples)
    texts = [text for text, _ in examples]
    names, labels = np.unique([label for _, label in examples], return_inverse=True)
    first = max(1, len(texts) // 10)  # held out
    body, tokenizer = kt.read_bert(bert) if bert else make_bert(texts[first:])
    model = kt.EncoderClassifier(body, len(names), pooling="mean")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    adam = keras.optimizers.AdamW(kt.warmup_cosine(learning_rate, epochs * len(texts) // 32))
    model.compile(adam, loss, metrics=["accuracy"])
    ids = tokenizer.arrays(texts, length=body.seq_length)[0]
    ids = ids[:, : np.count_nonzero(ids, axis=1).max()]  # no longer than the longest text
    model.fit(ids[first:], labels[first:], 32, epochs, verbose=2)
    kt.Classify(model, tokenizer, names.tolist()).save(run)
    _, right = model.evaluate(ids[:first], labels[:first], verbose=0)
    most = np.bincount(labels[:first]).max() / first
    print(f"{', '.join(names)}: {right:.1%} right, {most:.1%} by always saying the same")


def main():
    parser = argparse.ArgumentParser(prog="train_classifier.py", description=__doc__)
    parser.add_argument("data", nargs="?", help="lines of text, tab, label")
    parser.add_argument("--bert", help="folder of a BERT to fine-tune, own or published")
    parser.add_argument("--run", type=Path, default=Path("runs/labels"), help="folder to write")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--learning-rate", type=float, default=5e-4, help="published BERTs: 2e-5")
    arguments = parser.parse_args()
    tune_process()  # before Keras is imported
    try:
        train(**vars(arguments))
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


if __name__ == "__main__":
    main()
