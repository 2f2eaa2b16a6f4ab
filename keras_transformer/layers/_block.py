"""Base classes of the encoder and decoder layers and of their stacks."""

import keras

from keras_transformer.layers._attention_mask_mixin import AttentionMaskMixin
from keras_transformer.layers._settings_mixin import SettingsMixin
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.layer_normalization import LayerNormalization


class TransformerBlock(AttentionMaskMixin, SettingsMixin, keras.layers.Layer):
    """Base class of an encoder or decoder layer, which it configures by its settings.

    The subclass creates its sub-layers in `_create_sublayers`.
    """

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
        explicit = {"h": h, "d_k": d_k, "d_v": d_v, "d_model": d_model, "d_ff": d_ff, "rate": rate}
        super().__init__(settings, explicit, **kwargs)
        self._create_sublayers()

    def _create_sublayers(self):
        raise NotImplementedError

    def _sublayer(self, sublayer_class, name):
        """Creates a sub-layer from the settings of this layer."""
        return sublayer_class.from_settings(self.settings, dtype=self.dtype_policy, name=name)


class TransformerStack(AttentionMaskMixin, SettingsMixin, keras.layers.Layer):
    """Base class of a stack: dropout, n layers, and a final norm if the layers are pre-norm.

    Attributes:
        layer_class: class of the layers; set by the subclass.
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
        sizes = {"h": h, "d_k": d_k, "d_v": d_v, "d_model": d_model, "d_ff": d_ff, "n": n}
        super().__init__(settings, {**sizes, "rate": rate}, **kwargs)
        settings, dtype = self.settings, self.dtype_policy
        self.dropout = Dropout(settings.rate, dtype=dtype, name="dropout")
        self.layers = [
            self.layer_class(settings=settings, dtype=dtype, name=f"layer_{i}")
            for i in range(settings.n)
        ]
        # The last residual sum of pre-norm layers is not normalized, so it needs its own norm.
        if settings.norm_first:
            self.final_norm = LayerNormalization(settings.epsilon, dtype=dtype, name="final_norm")
        else:
            self.final_norm = keras.layers.Identity(dtype=dtype, name="final_norm")

    def _build_sublayers(self, x_shape, *other_shapes):
        self.dropout.build(x_shape)
        for layer in self.layers:
            layer.build(x_shape, *other_shapes)
        self.final_norm.build(x_shape)
        self.built = True
