"""The parts of layers and models, which can be replaced."""

import inspect
from typing import Any, Self

import keras
import numpy as np

from keras_transformer._utils.reading import excerpt

SOME_TOKENS = np.ones((1, 2), "int32")  # token ids, (B, T)


class PartsMixin:
    """Lets the parts of a layer or model be replaced, and keeps them in its configuration.

    A part is a layer, or a tuple of layers, in a public attribute that the constructor sets. It is
    replaced by assignment before its parent is built. The parent knows what a part is called with
    and what it returns, but neither its class nor its attributes.
    """

    # Names of attributes. PyTorch keeps layers apart from the other attributes of an object.
    _parts: tuple[str, ...] = ()  # with layers, in the order of their assignment
    _replaced: tuple[str, ...] = ()  # whose parts were replaced

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):  # Keras sets such attributes in every call
            super().__setattr__(name, value)
            return
        is_known = name in vars(self) or name in self._parts
        old = getattr(self, name) if is_known else None
        if value is old or not layers_in([old, value]):
            super().__setattr__(name, value)
            return
        self._parts = tuple(dict.fromkeys([*self._parts, name]))
        if not is_known:
            super().__setattr__(name, value)
            return
        if not layers_in(value):
            raise ValueError(
                "A part is replaced by a layer, or by a list of layers if there are several. "
                f"Received: {name}={excerpt(value)}"
            )
        if self.built:  # type: ignore[attr-defined]
            raise ValueError(
                "Replace parts before the model is built, such as right after creating it: Keras "
                f"cannot add weights later. Received: {name} of {type(self).__name__}, built"
            )
        self._replaced = tuple(dict.fromkeys([*self._replaced, name]))
        super().__delattr__(name)  # on PyTorch, a layer could not be followed by a tuple
        super().__setattr__(name, tuple(value) if isinstance(value, list) else value)
        # Keras tracks a layer from its assignment on, but forgets it when it leaves a list. All
        # parts are assigned again, so that the order of the weights does not depend on the history.
        self._removed = layers_in([old, *parts_of(self).values()])
        self._removed.clear()
        for attribute, part in parts_of(self).items():
            super().__setattr__(attribute, part)

    def get_config(self) -> dict[str, Any]:
        config, parts = super().get_config(), parts_of(self)  # type: ignore[misc]
        check_not_quantized(self)  # it could not be loaded
        replaced = {
            name: part
            for name, part in parts.items()
            if name in self._replaced or any(map(_has_replaced, layers_in(part)))
        }
        return {**config, "parts": _serialize(replaced)} if replaced else config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        config = dict(config)
        parts = config.pop("parts", None)
        layer = super().from_config(config)  # type: ignore[misc]
        for name, part in _deserialize(parts).items() if parts else ():
            setattr(layer, name, part)
        return layer


def check_not_quantized(layer):
    """Raises a ValueError if a layer or a part of it is quantized."""
    quantized = keras.dtype_policies.QuantizedDTypePolicy
    if any(isinstance(x.dtype_policy, quantized) for x in walk(layer)):
        raise ValueError(
            "A quantized model cannot be saved or exported: do so before `quantize`; a translator "
            "can be exported with int8 to CTranslate2. "
            f"Received: quantized parts of {type(layer).__name__}"
        )


def parts_of(layer):
    """Returns the parts of a layer: its public attributes that are layers or tuples of layers."""
    return {
        name: part
        for name in getattr(layer, "_parts", ())
        if layers_in(part := getattr(layer, name, None))
    }


def layers_in(value):
    """Returns the layers in a value: the value itself, or those in a list or tuple."""
    if isinstance(value, (list, tuple)):
        return [layer for x in value for layer in layers_in(x)]
    return [value] if isinstance(value, keras.layers.Layer) else []


def walk(layer):
    """Yields a layer and, at any depth, the layers in its attributes."""
    yield layer
    for inner in {id(x): x for x in layers_in(list(vars(layer).values()))}.values():
        yield from walk(inner)


def build_part(part, *shapes, dtype="float32"):
    """Builds a part; a layer of the user, and one of Keras with several inputs, by a call.

    Args:
        part: a layer.
        *shapes: shapes of the inputs that it is called with, apart from attention masks.
        dtype: dtype of the inputs.
    """
    if part.built:
        return
    call, simple = part, len(shapes) == 1 and type(part).build is not keras.layers.Layer.build
    if isinstance(part, PartsMixin) or (simple and _is_own(part)):
        part.build(*shapes)
        if all(layer.built for layer in walk(part)):
            return
        # A subclass has further layers. Keras would not look into a layer that is built.
        call = part.call
    mask = keras.KerasTensor((None, None, None), "bool")  # (B, T, S)
    arguments = inspect.signature(part.call).parameters
    masks = {name: mask for name in arguments if name.endswith("attention_mask")}
    call(*(keras.KerasTensor(shape, dtype) for shape in shapes), **masks)


def build_further_layers(model, inputs):
    """Calls a built model if a subclass without a `build` of its own has added layers.

    Keras does not build them when it loads a file, and would leave out their weights.

    Args:
        model: a model, built but for these layers.
        inputs: NumPy arrays, as small as the inputs of its call may be, such as `SOME_TOKENS`.
    """
    if _is_ours(type(model).build) and not all(layer.built for layer in walk(model)):
        model.call(inputs)


def changed_part(model):
    """Describes the first part of a model that is not as the library makes it.

    Args:
        model: a layer or a model.

    Returns:
        Text such as "encoder.layers[0].feed_forward is a MyFeedForward"; None if all parts are the
        library's own.
    """
    if not _is_own(model):
        return f"the model is a {type(model).__name__}"
    return _changed_part(model)


def is_replaced(parent, name):
    """Returns whether a part of a layer, or a part of this part at any depth, was replaced."""
    return name in getattr(parent, "_replaced", ()) or _has_replaced(getattr(parent, name))


def _has_replaced(layer):
    """Returns whether a part of a layer was replaced, at any depth."""
    return isinstance(layer, PartsMixin) and (
        layer._replaced or any(map(_has_replaced, layers_in(list(parts_of(layer).values()))))
    )


def _changed_part(layer, path=""):
    if not isinstance(layer, PartsMixin):
        return None
    for name, part in parts_of(layer).items():
        steps = [(name, part)]
        if isinstance(part, (list, tuple)):
            steps = [(f"{name}[{i}]", x) for i, x in enumerate(part)]
        for step, x in steps:
            if found := _changed_part(x, f"{path}{step}."):
                return found
            if not _is_own(x):
                return f"{path}{step} is a {type(x).__name__}"
        if name in layer._replaced:
            step, x = steps[0]
            return f"{path}{step} is a {type(x).__name__}"
    return None


def _is_own(layer):
    return _is_ours(type(layer)) or type(layer).__module__.startswith("keras.")


def _is_ours(definition):
    return definition.__module__.startswith("keras_transformer.")


def _serialize(parts):
    """Returns the configuration of some parts; a layer that occurs again is written once."""
    layers = list({id(layer): layer for layer in layers_in(list(parts.values()))}.values())
    index = {id(layer): i for i, layer in enumerate(layers)}
    return {
        # Without the shapes of their inputs, because the parent builds them. In a `.keras` file,
        # layers with the same id are the same layer, whatever their parents.
        "layers": [
            {
                **keras.saving.serialize_keras_object(layer),
                "build_config": None,
                "shared_object_id": id(layer),
            }
            for layer in layers
        ],
        "attributes": {
            name: index[id(part)] if id(part) in index else [index[id(x)] for x in part]
            for name, part in parts.items()
        },
    }


def without_parts(config, *names):
    """Returns the configuration of a layer or model without some of its replaced parts."""
    if "parts" not in config:
        return config
    parts = config["parts"]
    attributes = {name: x for name, x in parts["attributes"].items() if name not in names}
    return {**config, "parts": {**parts, "attributes": attributes}}


def _deserialize(config):
    layers = [keras.saving.deserialize_keras_object(layer) for layer in config["layers"]]
    return {
        name: tuple(layers[i] for i in x) if isinstance(x, list) else layers[x]
        for name, x in config["attributes"].items()
    }
