"""Trains a translator on sentence pairs (default: the bundled English-German corpus)."""

from _environment import run_command

if __name__ == "__main__":
    run_command("train", prog="train.py")
