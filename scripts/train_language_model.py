"""Trains an LSTM and a Transformer language model and compares their perplexities."""

from keras_transformer.cli import run_command

if __name__ == "__main__":
    run_command("train-language-model", prog="train_language_model.py")
