"""Type hints of the public API. `make check` checks that they are right."""

import inspect
import re
from importlib import import_module, resources
from pathlib import Path

import keras
import pytest

ROOT = Path(__file__).resolve().parents[1]
SPECIAL = ("__init__", "__call__")  # methods with documented arguments


def documented_names():
    """Returns the dotted names in the API reference that the active backend can import."""
    pages = (ROOT / "docs/reference").glob("*.md")
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    names = re.findall(r"^::: (keras_transformer\.[\w.]+)$", text, re.MULTILINE)
    only_tensorflow = "keras_transformer.export.saved_model."
    is_tensorflow = keras.config.backend() == "tensorflow"
    return [name for name in names if is_tensorflow or not name.startswith(only_tensorflow)]


def functions_of(value):
    """Yields a function, or the public methods that a class defines and those of our bases."""
    if not inspect.isclass(value):
        yield from [inspect.unwrap(value)] if callable(value) else []  # an id is a constant
        return
    for base in value.__mro__:
        if not base.__module__.startswith("keras_transformer."):
            continue
        for name, member in vars(base).items():
            member = getattr(member, "fget", getattr(member, "__func__", member))
            if inspect.isfunction(member) and (name in SPECIAL or not name.startswith("_")):
                yield inspect.unwrap(member)


@pytest.mark.parametrize("name", documented_names())
def test_public_functions_and_methods_have_complete_type_hints(name):
    module, _, attribute = name.rpartition(".")
    for function in functions_of(getattr(import_module(module), attribute)):
        signature = inspect.signature(function)
        hints = {x.name: x.annotation for x in signature.parameters.values() if x.name != "self"}
        hints.pop("cls", None)
        missing = [x for x, hint in hints.items() if hint is inspect.Parameter.empty]
        where = f"{function.__module__}.{function.__qualname__}"
        assert not missing, f"{where} lacks the types of {missing}"
        assert signature.return_annotation is not inspect.Signature.empty, f"{where} returns?"


def test_the_package_is_marked_as_typed():
    assert resources.files("keras_transformer").joinpath("py.typed").is_file()
