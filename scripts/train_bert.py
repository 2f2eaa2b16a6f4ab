"""Pre-trains a small BERT on a text file; without arguments on the project's English sentences."""

from keras_transformer.cli import run_command

if __name__ == "__main__":
    run_command("train-bert", prog="train_bert.py")
