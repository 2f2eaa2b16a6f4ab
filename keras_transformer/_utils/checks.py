"""Argument checks, which raise a ValueError that names the first invalid argument.

Example:
    >>> check_sizes(batch_size=64, **given(n_sentences=None))
"""

import math
import numbers

from keras_transformer._utils.reading import excerpt


def given(**arguments):
    """Returns the arguments that are not None, to skip the checks of optional ones."""
    return {name: value for name, value in arguments.items() if value is not None}


def _check(values, kinds, is_valid, requirement):
    """Raises a ValueError unless all values are valid numbers of these kinds."""
    kinds = (int, numbers.Integral) if kinds is int else kinds  # also those of NumPy
    for name, value in values.items():
        if not isinstance(value, kinds) or isinstance(value, bool) or not is_valid(value):
            raise ValueError(f"`{name}` must be {requirement}. Received: {name}={excerpt(value)}")


def check_sizes(**sizes):
    """Returns the sizes as integers of Python, which JSON can store.

    Raises:
        ValueError: if a size is not a positive integer, of Python or of NumPy.
    """
    _check(sizes, int, lambda size: size >= 1, "a positive int")
    return [int(size) for size in sizes.values()]


def check_optional_size(**size):
    """Returns a size as `check_sizes` does, or None if it is None."""
    [value] = size.values()
    return None if value is None else check_sizes(**size)[0]


def check_integers(minimum, maximum, **integers):
    """Raises a ValueError if a number is not an integer from `minimum` to `maximum`."""
    requirement = f"an int from {minimum} to {maximum}"
    _check(integers, int, lambda x: minimum <= x <= maximum, requirement)


def check_numbers(minimum, maximum, **numbers):
    """Raises a ValueError if a number is not between `minimum` and `maximum`, inclusive."""
    requirement = f"a number from {minimum} to {maximum}"
    _check(numbers, (int, float), lambda x: minimum <= x <= maximum, requirement)


def check_rate(**rates):
    """Raises a ValueError if a rate is not in [0, 1)."""
    _check(rates, (int, float), lambda rate: 0 <= rate < 1, "at least 0 and less than 1")


def check_positive(**numbers):
    """Raises a ValueError if a number is not positive and finite."""
    _check(numbers, (int, float), lambda x: 0 < x < math.inf, "positive and finite")


def check_even(**sizes):
    """Raises a ValueError if a size is odd."""
    for name, size in sizes.items():
        if size % 2:
            raise ValueError(
                f"`{name}` must be even, because position encodings pair each sine with a cosine. "
                f"Received: {name}={excerpt(size)}"
            )


def check_rotary(rotary_base, d_k, rotary_scaling=None):
    """Returns `rotary_scaling` as `check_rotary_scaling` does.

    Raises:
        ValueError: if it is not valid, or heads of size `d_k` cannot be rotated.
    """
    if rotary_base is not None:
        check_positive(rotary_base=rotary_base)
        if d_k % 2:
            raise ValueError(
                "`d_k`, the size of a head, must be even with rotary position embeddings: change "
                "`d_model` or `h`, or set `rotary_base` to None. "
                f"Received: d_k={excerpt(d_k)}"
            )
    return check_rotary_scaling(rotary_scaling)


def check_rotary_scaling(rotary_scaling):
    """Returns the numbers that stretch rotary positions as a tuple, None if it is None.

    Raises:
        ValueError: if they are not one or four positive numbers, see `rotary_embedding`.
    """
    if rotary_scaling is None:
        return None
    numbers = tuple(rotary_scaling) if isinstance(rotary_scaling, (list, tuple)) else ()
    check_positive(**{f"rotary_scaling[{i}]": x for i, x in enumerate(numbers)})
    if len(numbers) not in (1, 4) or numbers[1:2] >= numbers[2:3] > ():
        raise ValueError(
            "`rotary_scaling` must be (factor,) or (factor, low, high, length) with low < high. "
            f"Received: rotary_scaling={excerpt(rotary_scaling)}"
        )
    return numbers


def check_groups(h, h_kv):
    """Returns the number of heads of the keys and values, None if it is that of the queries.

    Raises:
        ValueError: if it is not a positive integer that divides `h`.
    """
    h_kv = check_optional_size(h_kv=h_kv)
    if h_kv is not None and h % h_kv:
        raise ValueError(
            "`h_kv`, the number of heads of the keys and values, must divide `h`. "
            f"Received: h={h}, h_kv={h_kv}"
        )
    return None if h_kv == h else h_kv


def check_length(length, **limit):
    """Raises a ValueError if a sequence is longer than a limit.

    Args:
        length: length of the sequence, or None if unknown.
        **limit: a single argument, the name and the value of the limit; None for no limit.
    """
    [(name, maximum)] = limit.items()
    if None not in (length, maximum) and length > maximum:
        raise ValueError(
            f"The sequence is longer than `{name}`: shorten it or raise `{name}`. "
            f"Received: a length of {length}, {name}={maximum}"
        )


def check_choice(choices, **arguments):
    """Raises a ValueError if an argument is not one of the choices."""
    for name, value in arguments.items():
        if value not in choices:
            raise ValueError(
                f"`{name}` must be one of {choices}. Received: {name}={excerpt(value)}"
            )


def check_axes(number, expected, **tensors):
    """Raises a ValueError unless tensors, or shapes, have a number of axes."""
    for name, tensor in tensors.items():
        shape = tuple(getattr(tensor, "shape", tensor))
        if len(shape) != number:
            raise ValueError(
                f"`{name}` must have the shape {expected}: write `{name}[None]` for a single one. "
                f"Received: shape {shape}"
            )


def check_vectors(shape, d_model):
    """Raises a ValueError unless a shape is that of vectors, (B, T, d_model)."""
    if len(shape) != 3:
        raise ValueError(
            f"The input must be vectors, (B, T, {d_model}): embed token ids first, such as with "
            f"PositionEmbeddingFixedWeights. Received: shape {tuple(shape)}"
        )
    if shape[-1] != d_model:
        raise ValueError(
            f"The vectors must have the size `d_model`={d_model}. Received: {shape[-1]}"
        )
