"""Trains an English-German translator; without arguments on the project's own corpus."""

from keras_transformer.cli import run_command

if __name__ == "__main__":
    run_command("train", prog="train.py")
