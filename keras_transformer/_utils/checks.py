"""Checks of arguments: each raises a ValueError that names the first bad one.

Example:
    >>> check_sizes(batch_size=64, **given(n_sentences=None))
"""


def given(**arguments):
    """The arguments that are not None, for those that may be left out."""
    return {name: value for name, value in arguments.items() if value is not None}


def _is_number(value, kinds):
    return isinstance(value, kinds) and not isinstance(value, bool)


def check_sizes(**sizes):
    """Raises a ValueError that names the first size that is not a positive integer."""
    for name, size in sizes.items():
        if not _is_number(size, int) or size < 1:
            raise ValueError(f"`{name}` must be a positive int. Received: {name}={size!r}")


def check_integers(least, greatest, **numbers):
    """Raises a ValueError that names the first number that is no integer from least to greatest."""
    for name, number in numbers.items():
        if not _is_number(number, int) or not least <= number <= greatest:
            raise ValueError(
                f"`{name}` must be an int from {least} to {greatest}. Received: {name}={number!r}"
            )


def check_numbers(least, greatest, **numbers):
    """Raises a ValueError that names the first number that is not from least to greatest."""
    for name, number in numbers.items():
        if not _is_number(number, (int, float)) or not least <= number <= greatest:
            raise ValueError(
                f"`{name}` must be a number from {least} to {greatest}. Received: {name}={number!r}"
            )


def check_rate(**rates):
    """Raises a ValueError that names the first rate that is not in [0, 1)."""
    for name, rate in rates.items():
        if not _is_number(rate, (int, float)) or not 0 <= rate < 1:
            raise ValueError(
                f"`{name}` must be at least 0 and less than 1. Received: {name}={rate!r}"
            )


def check_positive(**numbers):
    """Raises a ValueError that names the first number that is not positive."""
    for name, number in numbers.items():
        if not _is_number(number, (int, float)) or not number > 0:
            raise ValueError(f"`{name}` must be positive. Received: {name}={number!r}")


def check_even(**sizes):
    """Raises a ValueError that names the first size that is odd."""
    for name, size in sizes.items():
        if size % 2:
            raise ValueError(
                f"`{name}` must be even: the positions' sines and cosines come in pairs. "
                f"Received: {name}={size!r}"
            )


def check_length(length, **limit):
    """Raises a ValueError if a sequence is longer than the one limit; None for unknown or none."""
    [(name, most)] = limit.items()
    if None not in (length, most) and length > most:
        raise ValueError(
            f"The sequence is longer than `{name}`: shorten it or raise `{name}`. "
            f"Received: a length of {length}, {name}={most}"
        )


def check_choice(choices, **arguments):
    """Raises a ValueError that names the first argument that is none of the choices."""
    for name, value in arguments.items():
        if value not in choices:
            raise ValueError(f"`{name}` must be one of {choices}. Received: {name}={value!r}")


def check_vectors(shape, d_model):
    """Raises a ValueError if vectors of this shape, (..., D), are not of the size `d_model`."""
    if shape[-1] != d_model:
        raise ValueError(
            f"The vectors must have the size `d_model`={d_model}. Received: {shape[-1]}"
        )
