"""Trains an LSTM and a Transformer to predict the next word of a text, and compares them."""

import argparse
import math
import time
from pathlib import Path

import keras_transformer as kt
from keras_transformer.training.process import tune_process

DATA = Path(__file__).parents[1] / "data/english-german.tsv"
SIZES = {"h": 4, "d_k": 32, "d_v": 32, "d_model": 128, "d_ff_inner": 256, "n": 2, "rate": 0.3}
MODELS = {
    "lstm": lambda words: kt.LSTMLanguageModel(words, d_model=100, units=150, n=2, rate=0.3),
    "transformer": lambda words: kt.TransformerLanguageModel(words, 64, **SIZES),
}


def train(text, run, model, epochs, prompt, prefixes):
    import keras

    from keras_transformer.data.pretraining import unigram_entropy

    texts = kt.read_documents(text)
    cut = len(texts) // 10
    tokenizer = kt.WordTokenizer.train(texts[cut:])
    held_out = kt.next_words(tokenizer, texts[:cut] or texts)
    examples = (kt.ngram_prefixes if prefixes else kt.next_words)(tokenizer, texts[cut:])
    tokenizer.save(run / "tokenizer.json")
    report = [f"{math.exp(unigram_entropy(held_out[1][held_out[1] > 0])):.1f} by frequencies"]
    for kind in model:
        keras.utils.set_random_seed(0)
        made, started = MODELS[kind](tokenizer.vocab_size), time.process_time()
        decay = keras.optimizers.schedules.CosineDecay(3e-3, 1 + epochs * len(examples[0]) // 64)
        adam = keras.optimizers.Adam(decay, global_clipnorm=1.0)
        made.compile(adam, kt.MaskedCrossEntropy(), metrics=[kt.Perplexity()])
        fitted = made.fit(*examples, 64, epochs, verbose=2, validation_data=held_out)
        found, seconds = fitted.history["val_perplexity"][-1], time.process_time() - started
        made.save(run / f"{kind}.keras")
        text = kt.Generate(made, tokenizer)(prompt)
        report.append(f"{found:.1f} {kind}, {made.count_params():,}, {seconds:.0f} s: {text}")
    where = "held out" if cut else "in training (of less than ten texts none is held out)"
    print(f"perplexity {where}, model, parameters, processor time, text", *report, sep="\n")


def main():
    parser = argparse.ArgumentParser(prog="train_language_model.py", description=__doc__)
    parser.add_argument("text", nargs="?", default=DATA, help="text file, or a .tsv of pairs")
    parser.add_argument("--run", type=Path, default=Path("runs/language"), help="folder to write")
    parser.add_argument("--model", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--prompt", default="", help="what to go on with")
    parser.add_argument("--prefixes", action="store_true", help="learn each beginning by itself")
    arguments = parser.parse_args()
    tune_process()  # before Keras is imported
    try:
        train(**vars(arguments))
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")


if __name__ == "__main__":
    main()
