"""The learner's layers with the weights of the library's."""

import numpy as np

from keras_transformer.build_it.checking import Unsolved, Wrong, call, expect

_DENSE = ("query", "key", "value")
NORM = {"scale": 0, "shift": 1}  # weights of `LayerNormalization`
HEADS = {name: f"{name}_projection" for name in _DENSE} | {"output_projection": "output_projection"}
FEED_FORWARD = {"inner": "inner", "outer": "outer"}
ENCODER_LAYER = {
    "attention": ("self_attention", HEADS),
    "norm_1": ("add_norm_1.normalization", NORM),
    "feed_forward": ("feed_forward", FEED_FORWARD),
    "norm_2": ("add_norm_2.normalization", NORM),
}
DECODER_LAYER = {
    "attention": ("self_attention", HEADS),
    "norm_1": ("add_norm_1.normalization", NORM),
    "cross_attention": ("cross_attention", HEADS),
    "norm_2": ("add_norm_2.normalization", NORM),
    "feed_forward": ("feed_forward", FEED_FORWARD),
    "norm_3": ("add_norm_3.normalization", NORM),
}
MODEL = {
    "source_embedding": ("source_embedding", {"words": "words"}),
    "target_embedding": ("target_embedding", {"words": "words"}),
    "encoder_layers": ("encoder.layers", ENCODER_LAYER),
    "encoder_norm": ("encoder.final_norm", NORM),
    "decoder_layers": ("decoder.layers", DECODER_LAYER),
    "decoder_norm": ("decoder.final_norm", NORM),
    "projection": "projection",
}


def find(yours, name):
    """Returns what the learner's file calls by a name."""
    found = yours.get(name)
    expect(found is not None, f"There is no `{name}` in your file. Its name must stay as it was.")
    return found


def make(yours, name, *arguments):
    """Returns a layer of one of the learner's classes."""
    return call(find(yours, name), *arguments)


def check_parts(layer, parts):
    """Raises `Unsolved` if a layer has none of its parts, and `Wrong` if it lacks one."""
    missing = [name for name in parts if not hasattr(layer, name)]
    where = "build" if parts is NORM else "__init__"
    if len(missing) == len(parts):
        raise Unsolved
    expect(
        not missing,
        f"{type(layer).__name__} has no `self.{missing and missing[0]}`: make it in `{where}`.",
    )
    layers = [getattr(layer, name) for name in parts]
    for i, one in enumerate(layers):
        for j in range(i):
            first, second = list(parts)[j], list(parts)[i]
            expect(
                one is not layers[j],
                f"`{first}` and `{second}` are one layer with the same weights: make two.",
            )


def copy_weights(yours, theirs, parts):
    """Copies the weights of a library layer, part by part.

    Args:
        yours: the learner's layer, which has been called.
        theirs: the library's.
        parts: dictionary from the name of a part to the library's name; or to a pair of it and the
            parts of the part.

    Raises:
        Unsolved: if there is no part.
        Wrong: if a part is missing, or has weights of other shapes.
    """
    check_parts(yours, parts)
    for name, counterpart in parts.items():
        mine, path, inner = getattr(yours, name), counterpart, None
        if isinstance(counterpart, tuple):
            path, inner = counterpart
        expect(
            getattr(mine, "built", True),
            f"`{name}` of {type(yours).__name__} is never called.",
        )
        if path in (0, 1):
            mine.assign(theirs.get_weights()[path])
            continue
        other = theirs
        for attribute in path.split("."):
            other = getattr(other, attribute)
        if inner is None:
            _set(mine, other.get_weights(), f"{type(yours).__name__}.{name}")
        elif isinstance(other, tuple | list):
            expect(
                isinstance(mine, list | tuple) and len(mine) == len(other),
                f"`{name}` must be a list of {len(other)} layers, n.",
            )
            expect(
                len(set(map(id, mine))) == len(mine),
                f"`{name}` has the same layer {len(mine)} times: make a new one for each place.",
            )
            for one, layer in zip(mine, other, strict=True):
                copy_weights(one, layer, inner)
        else:
            copy_weights(mine, other, inner)


def _set(layer, weights, name):
    try:
        layer.set_weights(weights)
    except ValueError:
        found = [tuple(x.shape) for x in layer.weights]
        raise Wrong(
            f"The weights of `{name}` have the shapes {found}. Expected "
            f"{[x.shape for x in weights]}: compare the sizes, and leave the biases in."
        ) from None


def shake(layer):
    """Gives every weight of a library layer a number of its own, biases and norms included."""
    random = np.random.default_rng(0)
    layer.set_weights([x + random.normal(0, 0.2, x.shape) for x in layer.get_weights()])
    return layer
