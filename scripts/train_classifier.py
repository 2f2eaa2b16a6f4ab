"""Trains a text classifier; without a file it learns to tell questions from statements."""

from keras_transformer.cli import run_command

if __name__ == "__main__":
    run_command("train-classifier", prog="train_classifier.py")
