"""Serves a local web page that translates sentences and shows the attention weights."""

from _environment import run_command

if __name__ == "__main__":
    run_command("demo", prog="demo.py")
