"""Translates the test set of a run and prints BLEU and chrF."""

from _environment import run_command

if __name__ == "__main__":
    run_command("evaluate", prog="evaluate.py")
