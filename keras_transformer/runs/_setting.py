"""Fields of a run's configuration: a default, the help of its flag, and a check."""

import dataclasses
import functools
import numbers
import typing

from keras_transformer._utils.checks import check_choice, check_integers
from keras_transformer._utils.reading import excerpt

ANY_SIZE = 10**9


def setting(default, help, check=None):
    """Returns a field of `Settings`.

    Args:
        default: its default.
        help: text that describes it and explains its default.
        check: a function of `_utils.checks`, called with the name and the value if it is not None.
    """
    return dataclasses.field(default=default, metadata={"help": help, "check": check})


def flag_of(field):
    """Returns the flag that sets a field."""
    return "--from" if field.name == "parent" else f"--{field.name.replace('_', '-')}"


def reader_of(field):
    """Returns a function that reads the text or number of a field; "none" is no number."""
    convert, *none = typing.get_args(field.type) or (field.type,)

    def read(text):
        is_none = none and convert is not str and text.lower() == "none"
        return None if is_none else convert(text)

    read.__name__ = convert.__name__  # in messages of argparse
    return read


def integers(minimum, maximum):
    """Returns the check that a number is an integer from `minimum` to `maximum`."""
    return functools.partial(check_integers, minimum, maximum)


def check_two_texts(**arguments):
    """Raises a ValueError unless an argument is a tuple of two texts."""
    for name, value in arguments.items():
        if len(value) != 2 or not all(isinstance(text, str) and text for text in value):
            raise ValueError(f"`{name}` must be two names. Received: {name}={excerpt(value)}")


def choices(*values):
    """Returns the check that a value is one of `values`."""
    return functools.partial(check_choice, values)


class Settings:
    """A base of dataclasses that checks the types and the values of their fields."""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, numbers.Number) and hasattr(value, "item"):
                value = value.item()  # JSON has no numbers of NumPy
                object.__setattr__(self, field.name, value)
            if isinstance(value, list):
                value = tuple(value)  # JSON and flags have lists
                object.__setattr__(self, field.name, value)
            _check_type(field, value)
            check = field.metadata["check"]
            if check is not None and value is not None:
                check(**{field.name: value})


def _check_type(field, value):
    kinds = tuple(typing.get_origin(x) or x for x in typing.get_args(field.type) or (field.type,))
    if float in kinds:
        kinds = (*kinds, int)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ValueError(
            f"`{field.name}` must be of type {getattr(field.type, '__name__', field.type)}. "
            f"Received: {excerpt(value)}"
        )
