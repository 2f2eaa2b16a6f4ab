"""Averages the weights of the last epochs of a run trained with --keep-weights."""

from _environment import run_command

if __name__ == "__main__":
    run_command("average-checkpoints", prog="average_checkpoints.py")
