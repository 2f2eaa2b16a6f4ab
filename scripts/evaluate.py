"""Prints BLEU and chrF of a run on its test part."""

from keras_transformer.cli import run_command

if __name__ == "__main__":
    run_command("evaluate", prog="evaluate.py")
