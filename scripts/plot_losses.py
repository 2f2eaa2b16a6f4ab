"""Plots the loss curves of one or more runs."""

from _environment import run_command

if __name__ == "__main__":
    run_command("plot", prog="plot_losses.py")
