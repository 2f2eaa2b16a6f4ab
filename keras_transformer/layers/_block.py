"""What layers, stacks and models that hold `BlockSettings` have in common."""

import dataclasses
from types import MappingProxyType

import keras

from keras_transformer._utils.deprecation import warn_deprecated
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.settings import EPSILON, NAMES, BlockSettings, renamed


class WithSettings:
    """Holds `BlockSettings`, and keeps them in the configuration, field by field.

    Attributes:
        default_settings: what settings that are None mean here.
    """

    default_settings = MappingProxyType(
        {"activation": "relu", "norm_first": False, "epsilon": EPSILON}
    )

    def __init__(self, settings=None, course=None, **kwargs):
        """Takes the settings, or else the arguments of the course.

        Args:
            settings: `BlockSettings`, or None.
            course: dictionary of the settings that the constructor takes one by one, as in the
                course, which are None if they are not given.
            **kwargs: arguments of the layer; among them, as in version 0.1.0, single settings.
        """
        old = {name: kwargs.pop(name) for name in (*NAMES, "d_ff_inner") if name in kwargs}
        super().__init__(**kwargs)
        self.settings = self._settings(settings, course or {}, renamed(old))

    def _settings(self, settings, course, old):
        kind = type(self).__name__
        missing = [name for name, value in course.items() if value is None]
        given = renamed({name: x for name, x in course.items() if x is not None})
        if old:
            names = ", ".join(old)
            warn_deprecated(
                f"{kind}({names}=...) is deprecated: pass settings=BlockSettings({names}=...).",
                stacklevel=4,
            )
        if settings is None:
            if missing or not given | old:
                lacks = ", ".join(missing) or "its sizes"
                raise TypeError(
                    f"{kind} lacks {lacks}: give them all, or else settings=BlockSettings(...)."
                )
            settings = BlockSettings(**given, **old)
        elif given or old:
            raise ValueError(
                f"{kind} takes `settings` or single sizes, not both. Received: {given | old}"
            )
        elif not isinstance(settings, BlockSettings):
            raise ValueError(f"`settings` must be BlockSettings. Received: {settings!r}")
        return settings.with_defaults(**self.default_settings)

    def get_config(self):
        return {**super().get_config(), **dataclasses.asdict(self.settings)}

    @classmethod
    def from_config(cls, config):
        config = renamed(config)
        settings = {name: config.pop(name) for name in NAMES if name in config}
        return super().from_config({**config, "settings": BlockSettings(**settings)})


class TransformerBlock(WithSettings, keras.layers.Layer):
    """A layer of the transformer."""

    def __init__(
        self,
        h=None,
        d_k=None,
        d_v=None,
        d_model=None,
        d_ff=None,
        rate=None,
        *,
        settings=None,
        **kwargs,
    ):
        course = {"h": h, "d_k": d_k, "d_v": d_v, "d_model": d_model, "d_ff": d_ff, "rate": rate}
        super().__init__(settings, course, **kwargs)
        self._make_parts()

    def _part(self, part_class, name):
        """A sub-layer that takes from the settings what it needs."""
        return part_class.from_settings(self.settings, dtype=self.dtype_policy, name=name)


class TransformerStack(WithSettings, keras.layers.Layer):
    """Dropout, n layers of one class, and a final norm if the layers are pre-norm.

    Attributes:
        layer_class: of the layers; named by the subclass.
    """

    def __init__(
        self,
        h=None,
        d_k=None,
        d_v=None,
        d_model=None,
        d_ff=None,
        n=None,
        rate=None,
        *,
        settings=None,
        **kwargs,
    ):
        course = {"h": h, "d_k": d_k, "d_v": d_v, "d_model": d_model, "d_ff": d_ff}
        super().__init__(settings, {**course, "n": n, "rate": rate}, **kwargs)
        settings, dtype = self.settings, self.dtype_policy
        self.dropout = Dropout(settings.rate, dtype=dtype, name="dropout")
        self.layers = [
            self.layer_class(settings=settings, dtype=dtype, name=f"layer_{i}")
            for i in range(settings.n)
        ]
        # The last sum of pre-norm layers is not normalized: it gets a norm of its own.
        if settings.norm_first:
            self.final_norm = LayerNormalization(settings.epsilon, dtype=dtype, name="final_norm")
        else:
            self.final_norm = keras.layers.Identity(dtype=dtype, name="final_norm")

    def _build_parts(self, x_shape, *other_shapes):
        self.dropout.build(x_shape)
        for layer in self.layers:
            layer.build(x_shape, *other_shapes)
        self.final_norm.build(x_shape)
        self.built = True
