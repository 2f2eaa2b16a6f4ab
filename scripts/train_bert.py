"""Pre-trains a small BERT on a text file; without arguments on the project's English sentences."""

import argparse
import math
from pathlib import Path

import keras_transformer as kt
from keras_transformer.training.process import tune_process

DATA = Path(__file__).parents[1] / "data/english-german.tsv"


def train(text, run, epochs, batch_size, seq_length, d_model, learning_rate):
    import keras

    keras.utils.set_random_seed(0)
    documents, sizes = kt.read_documents(text), (seq_length, batch_size, 0)
    if len(documents) < 10:  # a tenth is held out
        raise ValueError(f"Give ten documents or more, see --help. Received: {len(documents)}")
    held_out, documents = documents[: len(documents) // 10], documents[len(documents) // 10 :]
    tokenizer = kt.WordPieceTokenizer.train(documents)
    batches = kt.PretrainingPairs(documents, tokenizer, *sizes)
    held_out = kt.PretrainingPairs(held_out, tokenizer, *sizes, dynamic=False)
    heads = (4, d_model // 4, d_model // 4)
    body = kt.Bert(tokenizer.vocab_size, seq_length, *heads, d_model, 4 * d_model, n=2, rate=0.1)
    model = kt.PretrainingBert(body)
    rate = kt.warmup_cosine(learning_rate, epochs * len(batches))
    follows = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    losses = {"words": kt.MaskedCrossEntropy(), "next": follows}
    model.compile(keras.optimizers.AdamW(rate), losses, metrics={"next": ["accuracy"]})
    batches, validation = kt.as_dataset(batches), kt.as_dataset(held_out)
    fitted = model.fit(batches, validation_data=validation, epochs=epochs, shuffle=False, verbose=2)
    tokenizer.save(run / "tokenizer.json")
    body.save(run / "bert.keras")
    words, follows = (fitted.history[f"val_{name}_loss"][-1] for name in losses)
    print(f"masked words: {words:.3f} nats; without context {held_out.word_entropy():.3f} at best")
    print(f"next sentence: {follows:.3f} nats; by chance {math.log(2):.3f}")


def main():
    parser = argparse.ArgumentParser(prog="train_bert.py", description=__doc__)
    parser.add_argument("text", nargs="?", default=DATA, help="text, a document a line, or .tsv")
    parser.add_argument("--run", type=Path, default=Path("runs/bert"), help="folder to write")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seq-length", type=int, default=24, help="tokens of both texts together")
    parser.add_argument("--d-model", type=int, default=128, help="size of the vectors")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="the highest")
    arguments = parser.parse_args()
    tune_process()  # before Keras is imported
    try:
        train(**vars(arguments))
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


if __name__ == "__main__":
    main()
