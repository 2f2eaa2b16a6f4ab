"""Series of numbers, as windows to learn to foretell the next number from."""

import csv

import numpy as np

from keras_transformer._utils.checks import check_sizes


def read_series(path, column=None):
    """Reads a column of numbers.

    Args:
        path: a CSV file in UTF-8 whose first line names the columns.
        column: the name of the column; None: the last one.

    Returns:
        float64 (N,).

    Raises:
        OSError: if the file cannot be read.
        ValueError: if there is no such column, or something in it is no finite number.
    """
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        columns = reader.fieldnames or [None]
        column = columns[-1] if column is None else column
        if column not in columns or column is None:
            raise ValueError(
                f"{path} has no such column: choose one of {columns}. Received: {column!r}"
            )
        series = [_number(row[column], path, reader.line_num) for row in reader]
    return np.array(series)


def _number(text, path, line):
    try:
        number = float(text)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(f"{path}, line {line}: give a number. Received: {text!r}")
    return number


def fibonacci(length):
    """The first Fibonacci numbers, 0, 1, 1, 2, …, as float64 (N,).

    Raises:
        ValueError: if `length` is not a positive integer, or so large that the last ones overflow.
    """
    check_sizes(length=length)
    if length > 1477:
        raise ValueError(
            f"Take 1477 Fibonacci numbers at most: the next overflows. Received: length={length}"
        )
    numbers = [0.0, 1.0]
    while len(numbers) < length:
        numbers.append(numbers[-1] + numbers[-2])
    return np.array(numbers[:length])


def scale(series):
    """The series moved and stretched to 0 … 1.

    Raises:
        ValueError: if there are no two different numbers.
    """
    if len(series) == 0 or np.min(series) == np.max(series):
        raise ValueError(
            f"Only a series of different numbers can be scaled. Received: {len(series)} equal ones"
        )
    return (series - np.min(series)) / (np.max(series) - np.min(series))


def make_windows(series, steps, stride=1):
    """Cuts a series into runs of numbers, each with the number that follows it.

    Args:
        series: (N,).
        steps: numbers in a window, T.
        stride: from the begin of a window to that of the next; `steps`: without overlap.

    Returns:
        The windows, float32 (M, T, 1), and the numbers after them, float32 (M, 1).

    Raises:
        ValueError: if a size is not a positive integer, or the series has no window.
    """
    check_sizes(steps=steps, stride=stride)
    if len(series) <= steps:
        raise ValueError(
            f"The series must be longer than a window of {steps} and the number after it. "
            f"Received: {len(series)} numbers"
        )
    windows = np.lib.stride_tricks.sliding_window_view(series, steps + 1)[::stride]
    windows = windows.astype("float32")
    return windows[:, :-1, None], windows[:, -1:]
