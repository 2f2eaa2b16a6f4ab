"""Names of an earlier version, which work for one more version with a warning."""

import functools
import warnings


def warn_deprecated(message, stacklevel=2):
    """Issues the warning of all deprecations, a FutureWarning.

    Args:
        message: says what to write instead.
        stacklevel: as of `warnings.warn`, counted from the caller.
    """
    warnings.warn(message, FutureWarning, stacklevel=stacklevel + 1)


def renamed_method(old, new):
    """Returns a method that calls the method `new` and warns that `old` is deprecated."""

    def method(self, *args, **kwargs):
        warn_deprecated(f"`{old}` is deprecated: use `{new}`.")
        return getattr(self, new)(*args, **kwargs)

    method.__name__ = old
    method.__doc__ = f"Deprecated: use `{new}`."
    return method


def renamed_argument(old, new):
    """Returns a decorator that accepts the argument `new` by its old name, with a warning."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if old in kwargs:
                warn_deprecated(f"The argument `{old}` is deprecated: use `{new}`.")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return wrapper

    return decorate
