"""Cleans sentence pairs: lowercases, and removes punctuation and accents."""

from _environment import run_command

if __name__ == "__main__":
    run_command("prepare-data", prog="prepare_data.py")
