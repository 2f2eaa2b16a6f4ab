"""What encoder and decoder have in common: the sizes of their layers."""

import keras

from keras_transformer._utils.checks import check_positive, check_rate, check_sizes
from keras_transformer.layers.add_normalization import AddNormalization
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.layer_normalization import EPSILON, LayerNormalization
from keras_transformer.layers.multi_head_attention import MultiHeadAttention


class TransformerBlock(keras.layers.Layer):
    """Keeps the sizes of a layer of the transformer, or of a stack of them."""

    def __init__(
        self,
        h,
        d_k,
        d_v,
        d_model,
        d_ff,
        rate,
        activation="relu",
        norm_first=False,
        epsilon=EPSILON,
        attention_rate=0.0,
        activation_rate=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(h=h, d_k=d_k, d_v=d_v, d_model=d_model, d_ff=d_ff)
        check_rate(rate=rate, attention_rate=attention_rate, activation_rate=activation_rate)
        check_positive(epsilon=epsilon)
        self.h = h
        self.d_k = d_k
        self.d_v = d_v
        self.d_model = d_model
        self.d_ff = d_ff
        self.rate = rate
        self.activation = activation
        self.norm_first = norm_first
        self.epsilon = epsilon
        self.attention_rate = attention_rate
        self.activation_rate = activation_rate
        self._make_parts()

    def _make_parts(self):
        """Makes the sub-layers of a layer; a stack makes its layers when it knows their number."""

    def _attention(self, name):
        sizes = (self.h, self.d_k, self.d_v, self.d_model, self.attention_rate)
        return MultiHeadAttention(*sizes, dtype=self.dtype_policy, name=name)

    def _feed_forward(self, name):
        sizes = (self.d_ff, self.d_model, self.activation, self.activation_rate)
        return FeedForward(*sizes, dtype=self.dtype_policy, name=name)

    def _add_norm(self, name):
        options = (self.rate, self.norm_first, self.epsilon)
        return AddNormalization(*options, dtype=self.dtype_policy, name=name)

    def block_config(self):
        """The constructor's arguments."""
        return {
            "h": self.h,
            "d_k": self.d_k,
            "d_v": self.d_v,
            "d_model": self.d_model,
            "d_ff": self.d_ff,
            "rate": self.rate,
            "activation": self.activation,
            "norm_first": self.norm_first,
            "epsilon": self.epsilon,
            "attention_rate": self.attention_rate,
            "activation_rate": self.activation_rate,
        }

    def get_config(self):
        return {**super().get_config(), **self.block_config()}


class TransformerStack(TransformerBlock):
    """Dropout, n layers of one class, and a final norm if the layers normalise first."""

    layer_class = None  # named by the subclass

    def __init__(
        self, h, d_k, d_v, d_model, d_ff, n, rate, activation="relu", norm_first=False, **kwargs
    ):
        super().__init__(h, d_k, d_v, d_model, d_ff, rate, activation, norm_first, **kwargs)
        check_sizes(n=n)
        self.n = n
        dtype = self.dtype_policy
        self.dropout = Dropout(rate, dtype=dtype, name="dropout")
        names = [f"layer_{i}" for i in range(n)]
        self.layers = [
            self.layer_class(**self.block_config(), dtype=dtype, name=name) for name in names
        ]
        # Layers that normalise first leave their last sum as it is: it gets a norm of its own.
        self.final_norm = keras.layers.Identity(dtype=dtype, name="final_norm")
        if norm_first:
            self.final_norm = LayerNormalization(
                epsilon=self.epsilon, dtype=dtype, name="final_norm"
            )

    def _build_parts(self, x_shape, *other_shapes):
        self.dropout.build(x_shape)
        for layer in self.layers:
            layer.build(x_shape, *other_shapes)
        self.final_norm.build(x_shape)
        self.built = True

    def get_config(self):
        return {**super().get_config(), "n": self.n}
