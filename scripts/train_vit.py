"""Trains a vision transformer on scikit-learn's 8x8 digits, then fine-tunes it at 16x16."""

from _environment import run_command

if __name__ == "__main__":
    run_command("train-vit", prog="train_vit.py")
