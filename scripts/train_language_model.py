"""Trains an LSTM and a Transformer language model and compares their perplexities."""

from _environment import run_command

if __name__ == "__main__":
    run_command("train-language-model", prog="train_language_model.py")
