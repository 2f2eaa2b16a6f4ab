"""Time series: reading, scaling and splitting into windows for forecasting."""

import csv
from pathlib import Path

import numpy as np

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import PathLike
from keras_transformer.data.limits import Limits, read_lines


def read_series(path: PathLike, column: str | None = None, data_limits: float = 1.0) -> np.ndarray:
    """Reads a column of numbers from a CSV file.

    Args:
        path: path of a CSV file in UTF-8 whose first line has the column names.
        column: name of the column; None for the last one.
        data_limits: factor of the limits of the file, see `read_pairs`.

    Returns:
        The numbers, float64 (N,).

    Raises:
        OSError: if the file cannot be read.
        ValueError: if the file is not CSV in UTF-8 or is beyond a limit, or the column does not
            exist or contains anything but finite numbers.
    """
    lines = read_lines(Path(path), Limits.scaled(data_limits))
    reader = csv.DictReader(f"{line}\n" for line in lines)
    try:
        return np.array(_read_column(reader, path, column))
    except csv.Error as error:  # for example, a quote that is never closed
        raise ValueError(
            f"{path}, line {reader.line_num} must be valid CSV: {error}. Received: {path}"
        ) from error


def _read_column(reader, path, column):
    columns = reader.fieldnames or [None]
    column = columns[-1] if column is None else column
    if column not in columns or column is None:
        raise ValueError(
            f"{path} has no such column: choose one of {excerpt(columns)}. "
            f"Received: {excerpt(column)}"
        )
    return [_parse_number(row[column], path, reader.line_num) for row in reader]


def _parse_number(text, path, line):
    try:
        number = float(text)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(
            f"{path}, line {line}: expected a finite number. Received: {excerpt(text)}"
        )
    return number


def fibonacci(length: int) -> np.ndarray:
    """Returns the first Fibonacci numbers, 0, 1, 1, 2, …, as float64 (length,).

    Raises:
        ValueError: if `length` is not a positive integer, or above 1477, where float64 overflows.
    """
    check_sizes(length=length)
    if length > 1477:
        raise ValueError(
            f"`length` must be at most 1477: larger numbers overflow. Received: length={length}"
        )
    numbers = [0.0, 1.0]
    while len(numbers) < length:
        numbers.append(numbers[-1] + numbers[-2])
    return np.array(numbers[:length])


def scale(series):
    """Returns the series scaled to the range from 0 to 1.

    Raises:
        ValueError: if the series has fewer than two different numbers.
    """
    if len(series) == 0 or np.min(series) == np.max(series):
        raise ValueError(
            "A series needs at least two different numbers to be scaled. "
            f"Received: {len(series)} equal numbers"
        )
    return (series - np.min(series)) / (np.max(series) - np.min(series))


def make_windows(series: np.ndarray, steps: int, stride: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Splits a series into windows, each with the number that follows it as the target.

    Args:
        series: the numbers, (N,).
        steps: length of a window, T.
        stride: distance between the starts of successive windows; `steps` for no overlap.

    Returns:
        The windows, float32 (M, T, 1), and the targets, float32 (M, 1).

    Raises:
        ValueError: if a size is not a positive integer, or the series has at most `steps` numbers.
    """
    check_sizes(steps=steps, stride=stride)
    if len(series) <= steps:
        raise ValueError(
            f"The series must be longer than a window of {steps} numbers. "
            f"Received: {len(series)} numbers"
        )
    windows = np.lib.stride_tricks.sliding_window_view(series, steps + 1)[::stride]
    windows = windows.astype("float32")
    return windows[:, :-1, None], windows[:, -1:]
