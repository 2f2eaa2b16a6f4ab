"""Base classes of the encoder and decoder layers and of their stacks."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import keras

from keras_transformer._utils.arguments import training_by_name
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import Tensor
from keras_transformer.layers._attention_mask_mixin import AttentionMaskMixin
from keras_transformer.layers._parts import build_part
from keras_transformer.layers._settings_mixin import SettingsMixin
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.layer_normalization import make_normalization
from keras_transformer.settings import BlockSettings, names_ours

_Constructor = TypeVar("_Constructor", bound=Callable[..., Any])

# Arguments of implementations whose encoder and decoder embed the tokens themselves.
_EMBEDDING_ARGUMENTS = {"vocab_size", "sequence_length", "seq_length"}


def sizes_only(constructor: _Constructor) -> _Constructor:
    """Decorates the constructor of a layer or stack, which then explains wrong arguments.

    Besides those of `names_ours`, these are a vocabulary size or a sequence length.
    """
    names = list(inspect.signature(constructor).parameters)
    sizes = names[1 : names.index("settings")]

    @functools.wraps(constructor)
    def checked(self, *args, **kwargs):
        # One argument too many at the front: a size takes the place of the rate, or the last of the
        # positional arguments is also given by name.
        shifted = any(isinstance(x, int) and x >= 1 for x in args[len(sizes) - 1 : len(sizes)])
        given_twice = kwargs.keys() & set(sizes[: len(args)][-1:])
        if shifted or given_twice or _EMBEDDING_ARGUMENTS & kwargs.keys():
            name = type(self).__name__
            received = [*map(excerpt, args), *(f"{key}={excerpt(x)}" for key, x in kwargs.items())]
            raise TypeError(
                f"{name} takes neither a vocabulary size nor a sequence length, because it reads "
                f"vectors of any length: write {name}({', '.join(sizes)}). Embed the tokens with "
                "PositionEmbeddingFixedWeights, or use TransformerModel. "
                f"Received: {', '.join(received)}"
            )
        constructor(self, *args, **kwargs)

    return names_ours(cast(_Constructor, checked))


class TransformerBlock(AttentionMaskMixin, SettingsMixin, keras.layers.Layer):
    """Base class of the encoder and decoder layers and of their stacks."""

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        args, kwargs = training_by_name(args, kwargs)
        return super().__call__(*args, **kwargs)

    def _sublayer(self, sublayer_class, name, **changes):
        """Creates a sub-layer from the settings of this layer, some of them changed."""
        settings = dataclasses.replace(self.settings, **changes)
        return sublayer_class.from_settings(settings, dtype=self.dtype_policy, name=name)


class TransformerStack(TransformerBlock):
    """Base class of a stack: dropout, n layers, and a final norm if the layers are pre-norm."""

    _layer_class: type[TransformerBlock]  # each stack has its own

    @sizes_only
    def __init__(
        self,
        h: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        d_model: int | None = None,
        d_ff: int | None = None,
        n: int | None = None,
        rate: float | None = None,
        *,
        settings: BlockSettings | None = None,
        **kwargs: Any,
    ) -> None:
        sizes = {"h": h, "d_k": d_k, "d_v": d_v, "d_model": d_model, "d_ff": d_ff}
        super().__init__(settings, {**sizes, "n": n, "rate": rate}, **kwargs)
        settings, dtype = self.settings, self.dtype_policy
        self.dropout = Dropout(settings.rate, dtype=dtype, name="dropout")
        # A tuple, because Keras would not track a layer that is assigned to an element of a list.
        self.layers = tuple(
            self._layer_class(settings=settings, dtype=dtype, name=f"layer_{i}")
            for i in range(settings.n)
        )
        # The last residual sum of pre-norm layers is not normalized, so it needs its own norm.
        if settings.norm_first:
            self.final_norm = make_normalization(
                settings.normalization, settings.epsilon, dtype=dtype, name="final_norm"
            )
        else:
            self.final_norm = keras.layers.Identity(dtype=dtype, name="final_norm")

    def _build_sublayers(self, x_shape, *other_shapes):
        build_part(self.dropout, x_shape)
        for layer in self.layers:
            build_part(layer, x_shape, *other_shapes)
        build_part(self.final_norm, x_shape)
        self.built = True
