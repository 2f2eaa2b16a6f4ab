"""Translates sentences with a trained run: arguments, lines of a file or standard input."""

from keras_transformer.cli import run_command

if __name__ == "__main__":
    run_command("translate", prog="translate.py")
