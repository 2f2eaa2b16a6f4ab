"""Trains a forecaster on a time series: a column of a CSV file or the Fibonacci numbers."""

from _environment import run_command

if __name__ == "__main__":
    run_command("forecast", prog="forecast.py")
