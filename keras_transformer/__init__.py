"""The Transformer as Keras 3 layers, with training, translation and plotting.

The public names, which `_public.py` lists, and Keras itself are imported when the first of them is
used. A program can therefore parse its arguments and configure its process first.
"""

import importlib.metadata
import importlib.util
import sys
from typing import TYPE_CHECKING

__version__ = "0.3.0"

# Names of courses, and what to write instead.
_OTHER_NAMES = {
    "LRScheduler": "WarmupSchedule(d_model, warmup_steps=4000)",
    "loss_fcn": "MaskedCrossEntropy()",
    "accuracy_fcn": "MaskedAccuracy()",
    "lookahead_mask": "causal_mask(length)",
}

_DISTRIBUTION = "keras3-transformer"  # the distribution name of this package
_BACKENDS = ("tensorflow", "jax", "torch")


def _check_installation():
    """Raises an ImportError if no backend, or a package of the same name, is installed."""
    try:
        other = importlib.metadata.version("keras-transformer")
    except importlib.metadata.PackageNotFoundError:
        pass
    else:
        raise ImportError(
            "Another package with the same import name is installed: keras-transformer "
            f"{other}. Run: pip uninstall keras-transformer {_DISTRIBUTION}, then: "
            f"pip install {_DISTRIBUTION}"
        )
    if not any(map(importlib.util.find_spec, _BACKENDS)):
        raise ImportError(
            f"Keras needs a backend. Run: pip install '{_DISTRIBUTION}[tensorflow]'. Or install "
            "[jax] or [torch] instead and set KERAS_BACKEND=jax or torch."
        )


_check_installation()

# Keras can load a saved file only if the classes in it are registered, which importing them does.
# Once Keras is imported, importing them early costs little.
if TYPE_CHECKING or "keras" in sys.modules:
    from keras_transformer._public import *

if not TYPE_CHECKING:

    def __getattr__(name):
        # `from keras_transformer import cli` asks here first, and must not import Keras.
        is_module = importlib.util.find_spec(f"{__name__}.{name}") is not None
        if is_module or (name.startswith("_") and name != "__all__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from keras_transformer import _public
        except ModuleNotFoundError as error:
            if error.name not in _BACKENDS:
                raise
            raise ImportError(
                f"The Keras backend {error.name} is not installed. Set KERAS_BACKEND to an "
                f"installed backend, or run: pip install '{_DISTRIBUTION}[{error.name}]'"
            ) from error
        public = {name: x for name, x in vars(_public).items() if not name.startswith("_")}
        globals().update(public, __all__=sorted(public))
        if name in globals():
            return globals()[name]
        instead = _OTHER_NAMES.get(name)
        hint = "" if instead is None else f": write kt.{instead}, see docs/from-the-course.md"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")

    def __dir__():
        return sorted({*globals(), *__getattr__("__all__")})
