"""Arguments that code written for other libraries passes under other names or by position."""

import inspect
from collections.abc import Mapping
from typing import ClassVar

from keras_transformer._utils.reading import excerpt

# Argument names of Keras, KerasHub and tutorials, and the names here.
OUR_NAMES: Mapping[str, str] = {
    "d_ff_inner": "d_ff",
    "dff": "d_ff",
    "dropout": "rate",
    "dropout_rate": "rate",
    "embed_dim": "d_model",
    "intermediate_dim": "d_ff",
    "key_dim": "d_k",
    "num_heads": "h",
    "num_layers": "n",
    "value_dim": "d_v",
}


class ArgumentNamesMixin:
    """Rejects constructor arguments under the names of other libraries, and names ours.

    It checks in `__new__`, before Python or Keras rejects the arguments with a message of its own.

    Attributes:
        our_names: our names of arguments, by the names that are rejected where they are none.
    """

    our_names: ClassVar[Mapping[str, str]] = OUR_NAMES

    def __new__(cls, *args, **kwargs):
        for name, value in kwargs.items():
            if name in cls.our_names:
                _check_name(cls, name, cls.our_names[name], value)
        new = super().__new__
        # Keras reads the arguments in `__new__`; `object` allows none.
        return new(cls) if new is object.__new__ else new(cls, *args, **kwargs)


def _check_name(cls, name, ours, value):
    """Raises a TypeError if a constructor has an argument only under our name or in `settings`."""
    arguments = inspect.signature(cls.__init__).parameters
    if name in arguments or not {ours, "settings"} & arguments.keys():
        return
    replacement = f"`{ours}`" if ours in arguments else f"settings=BlockSettings({ours}=...)"
    raise TypeError(
        f"{cls.__name__} has no argument `{name}`: pass {replacement}. "
        f"Received: {name}={excerpt(value)}"
    )


def training_by_name(args, kwargs):
    """Returns the arguments of a call, with a boolean at the last position passed as `training`.

    Older code calls `layer(x, mask, True)`, but Keras allows only tensors as positional arguments.
    """
    if args and isinstance(args[-1], bool) and "training" not in kwargs:
        return args[:-1], {**kwargs, "training": args[-1]}
    return args, kwargs
