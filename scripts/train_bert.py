"""Pre-trains a small BERT on a text file (default: the English side of the bundled corpus)."""

from _environment import run_command

if __name__ == "__main__":
    run_command("train-bert", prog="train_bert.py")
