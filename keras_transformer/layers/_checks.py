"""Checks that the constructors of the layers share."""


def check_sizes(**sizes):
    """Raises a ValueError that names the first size that is not a positive integer."""
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"`{name}` must be a positive integer. Received: {name}={size!r}")


def check_rate(rate):
    """Raises a ValueError if `rate` is no dropout rate."""
    if not isinstance(rate, (int, float)) or not 0 <= rate < 1:
        raise ValueError(f"`rate` must be at least 0 and less than 1. Received: rate={rate!r}")
