"""Arguments of calls in older code."""


def training_by_name(args, kwargs):
    """Returns the arguments of a call, with a boolean at the last position passed as `training`.

    Older code calls `layer(x, mask, True)`, but Keras allows only tensors as positional arguments.
    """
    if args and isinstance(args[-1], bool) and "training" not in kwargs:
        return args[:-1], {**kwargs, "training": args[-1]}
    return args, kwargs
