"""Trains a forecaster of a series: a column of a CSV file, or 1200 Fibonacci numbers."""

from keras_transformer.cli import run_command

if __name__ == "__main__":
    run_command("forecast", prog="forecast.py")
