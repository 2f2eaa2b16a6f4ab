"""Translates sentences from arguments, a file or standard input with a trained run."""

from _environment import run_command

if __name__ == "__main__":
    run_command("translate", prog="translate.py")
