"""Deprecated names, which keep working for one version and issue a FutureWarning."""

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

REMOVED_IN = "0.3"  # the version without the deprecated names

_Function = TypeVar("_Function", bound=Callable[..., Any])


def warn_deprecated(message, stacklevel=2):
    """Issues a FutureWarning about a deprecation.

    Args:
        message: text of the warning; it names the replacement. The version that removes the old
            name is added.
        stacklevel: see `warnings.warn`; 1 is the caller of this function.
    """
    message = f"{message} Version {REMOVED_IN} removes the old name."
    warnings.warn(message, FutureWarning, stacklevel=stacklevel + 1)


def renamed_method(old: str, new: str) -> Callable[..., Any]:
    """Returns a method that calls the method `new` and warns that `old` is deprecated."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        warn_deprecated(f"`{old}` is deprecated: use `{new}`.")
        return getattr(self, new)(*args, **kwargs)

    method.__name__ = old
    method.__doc__ = f"Deprecated: use `{new}`."
    return method


def renamed_argument(old: str, new: str) -> Callable[[_Function], _Function]:
    """Returns a decorator that passes the deprecated argument `old` on as `new`, with a warning."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if old in kwargs:
                warn_deprecated(f"The argument `{old}` is deprecated: use `{new}`.")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return wrapper

    return decorate
