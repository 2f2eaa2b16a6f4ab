"""Checks that constructors share."""


def check_sizes(**sizes):
    """Raises a ValueError that names the first size that is not a positive integer."""
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"`{name}` must be a positive int. Received: {name}={size!r}")


def check_optional_sizes(**sizes):
    """Likewise, where None is allowed."""
    check_sizes(**{name: size for name, size in sizes.items() if size is not None})


def check_rate(**rates):
    """Raises a ValueError that names the first rate that is not in [0, 1)."""
    for name, rate in rates.items():
        if not isinstance(rate, (int, float)) or not 0 <= rate < 1:
            raise ValueError(
                f"`{name}` must be at least 0 and less than 1. Received: {name}={rate!r}"
            )


def check_positive(**numbers):
    """Raises a ValueError that names the first number that is not positive."""
    for name, number in numbers.items():
        if not isinstance(number, (int, float)) or not number > 0:
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
