"""Models of the user: functions that make them, and their names."""

import importlib
import importlib.util
import os
import sys
from pathlib import Path

import keras
import numpy as np

from keras_transformer._utils.reading import excerpt
from keras_transformer.layers._parts import changed_part


def function_name(make_model):
    """Returns the name of a function, such as "package.module:make_model"."""
    return f"{make_model.__module__}:{make_model.__qualname__}"


def load_function(name):
    """Imports the function that makes a model. Only names that the user gives may be imported.

    Args:
        name: "package.module:function", where the package may be in the current directory, or
            "file.py:function"; the function of a file defaults to `make_model`.

    Raises:
        ValueError: if there is no such function.
    """
    full = f"{name}:make_model" if name.endswith(".py") else name
    module_name, _, function = full.rpartition(":")
    try:
        if module_name.endswith(".py"):
            module = _import_file(Path(module_name))
        else:
            if os.getcwd() not in sys.path:
                sys.path.append(os.getcwd())
            module = importlib.import_module(module_name)
        return getattr(module, function)
    except (ImportError, OSError, AttributeError, ValueError) as error:
        raise ValueError(
            "The function that makes the model must be named as package.module:function or "
            f"file.py:function. Received: {excerpt(name)} ({error})"
        ) from error


def _import_file(file):
    name, path = file.stem, str(file.resolve())
    if name in sys.modules:
        if getattr(sys.modules[name], "__file__", None) != path:
            raise ValueError(f"a module {name} exists already: rename the file")
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def build_model(make, dtype):
    """Makes a model and builds all of its layers.

    Args:
        make: function without arguments that returns a model.
        dtype: dtype policy of the layers that it creates.
    """
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy(dtype)
    try:
        model = make()
    finally:
        keras.config.set_dtype_policy(policy)
    if not model.built:
        model.build(((None, None), (None, None)))
    if changed_part(model):  # a subclass may have layers that only a call builds
        ids = np.ones((1, 2), "int32")
        model((ids, ids))
    return model
