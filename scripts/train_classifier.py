"""Trains a text classifier (default: questions and statements of the bundled corpus)."""

from _environment import run_command

if __name__ == "__main__":
    run_command("train-classifier", prog="train_classifier.py")
