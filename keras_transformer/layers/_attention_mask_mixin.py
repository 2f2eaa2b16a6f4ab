"""Error messages for arguments under other names than ours."""

import inspect
from typing import Any

from keras_transformer._utils.types import Tensor

_OTHER_NAMES = (
    "use_causal_mask",
    "mask",
    "padding_mask",
    "lookahead_mask",
    "look_ahead_mask",
    "key_padding_mask",
)


class AttentionMaskMixin:
    """Rejects masks that are passed under the names of other libraries, and says what to pass."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.supports_masking = True  # Keras passes implicit masks on to the next layer

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        found = [x for x in _OTHER_NAMES if x in kwargs and not self._is_implicit(x, kwargs[x])]
        if found:
            arguments = inspect.signature(self.call).parameters  # type: ignore[attr-defined]
            ours = " or ".join(name for name in arguments if name.endswith("attention_mask"))
            raise TypeError(
                f"{type(self).__name__} has no argument `{found[0]}`: pass a boolean mask, True = "
                f"may attend, such as kt.causal_mask(length), as {ours}. Received: "
                f"{', '.join(found)}"
            )
        if len(args) == 2 and "keys" in inspect.signature(self.call).parameters:  # type: ignore[attr-defined]
            args = (*args, kwargs.pop("values", args[1]))  # as in Keras, values default to the keys
        return super().__call__(*args, **kwargs)  # type: ignore[misc]

    def _is_implicit(self, name: str, mask: Any) -> bool:
        """Returns whether Keras passes a mask, (B, T) or None, because `call` takes it."""
        arguments = inspect.signature(self.call).parameters  # type: ignore[attr-defined]
        return name in arguments and len(getattr(mask, "shape", (0, 0))) == 2
