"""Cleans a file of sentence pairs: case, punctuation, accents."""

from keras_transformer.cli import run_command

if __name__ == "__main__":
    run_command("prepare-data", prog="prepare_data.py")
