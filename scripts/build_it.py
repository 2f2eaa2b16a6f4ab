"""Builds a Transformer step by step: writes a file to fill in, and checks it."""

from _environment import run_command

if __name__ == "__main__":
    run_command("build", prog="build_it.py")
