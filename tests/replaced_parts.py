"""Replacements of each part of a Transformer: own layers, and layers of Keras.

`REPLACEMENTS` has for each name a function that replaces parts of a new `TransformerModel`, and
whether its decoder still has a KV cache.
"""

import keras
from keras import ops

import keras_transformer as kt

register = keras.saving.register_keras_serializable("replaced_parts")


@register
class GatedFeedForward(keras.layers.Layer):
    """A feed-forward network with a gate. It has no `build`, as many layers of users."""

    def __init__(self, d_ff, d_model, **kwargs):
        super().__init__(**kwargs)
        self.d_ff, self.d_model = d_ff, d_model
        self.gate = keras.layers.Dense(d_ff, "gelu")
        self.inner = keras.layers.Dense(d_ff)
        self.outer = keras.layers.Dense(d_model)

    def call(self, x):
        return self.outer(self.gate(x) * self.inner(x))

    def get_config(self):
        return {**super().get_config(), "d_ff": self.d_ff, "d_model": self.d_model}


@register
class CosineAttention(kt.DotProductAttention):
    """Scores are cosines divided by a learned temperature."""

    def build(self, queries_shape, keys_shape, values_shape):
        self.temperature = self.add_weight((), keras.initializers.Constant(0.2))

    def call(self, queries, keys, values, attention_mask=None):
        queries, keys = (ops.normalize(x, axis=-1, epsilon=1e-6) for x in (queries, keys))
        scale = keys.shape[-1] ** 0.5 / self.temperature
        return super().call(queries * scale, keys, values, attention_mask)


@register
class WindowedAttention(kt.MultiHeadAttention):
    """Attends to near positions only, by default to the neighbors."""

    window = 1

    def call(self, queries, keys, values, attention_mask=None):
        t, s = (ops.arange(ops.shape(x)[1]) for x in (queries, keys))
        near = ops.expand_dims(ops.abs(ops.expand_dims(t, 1) - s) <= self.window, 0)
        return super().call(queries, keys, values, kt.combine_masks(attention_mask, near))


@register
class MeanAttention(keras.layers.Layer):
    """Weights each key equally, and stores the weights."""

    def call(self, queries, keys, values, attention_mask):
        shape = (*ops.shape(queries)[:2], ops.shape(keys)[1])
        mask = ops.cast(ops.broadcast_to(attention_mask, shape), values.dtype)
        weights = mask / ops.maximum(ops.sum(mask, axis=-1, keepdims=True), 1)
        kt.store_attention(self, ops.expand_dims(weights, 1))
        return ops.matmul(weights, values)


@register
class NoResidual(keras.layers.Layer):
    """Takes the place of `AddNormalization`, without a residual connection."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.normalization = keras.layers.LayerNormalization()

    def sublayer_input(self, x):
        return x

    def call(self, x, sublayer_output):
        return self.normalization(sublayer_output)


@register
class ConvolutionLayer(keras.layers.Layer):
    """An encoder layer without attention."""

    def __init__(self, d_model, **kwargs):
        super().__init__(**kwargs)
        self.d_model = d_model
        self.convolution = keras.layers.Conv1D(d_model, 3, padding="same", activation="relu")

    def call(self, x, attention_mask=None):
        return x + self.convolution(x)


@register
class ThreeSublayers(kt.EncoderLayer):
    """An encoder layer with a second feed-forward network."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.second = kt.FeedForward(self.settings.d_ff, self.settings.d_model)

    def call(self, x, attention_mask=None):
        x = super().call(x, attention_mask=attention_mask)
        return x + self.second(x)


@register
class LateLayer(kt.DecoderLayer):
    """A decoder layer that scales its output, but only in `call`."""

    def call(self, x, encoder_output, self_attention_mask=None, cross_attention_mask=None):
        masks = (self_attention_mask, cross_attention_mask)
        return 2 * super().call(x, encoder_output, *masks)


def layers_of(model):
    return (*model.encoder.layers, *model.decoder.layers)


def attention_of_keras(settings):
    return keras.layers.MultiHeadAttention(settings.h, settings.d_k, settings.d_v)


def feed_forward(model, settings):
    for layer in layers_of(model):
        layer.feed_forward = GatedFeedForward(settings.d_ff, settings.d_model)


def feed_forward_of_keras(model, settings):
    for layer in layers_of(model):
        dense = keras.layers.Dense
        layer.feed_forward = keras.Sequential(
            [dense(settings.d_ff, "silu"), dense(settings.d_model)]
        )


def score(model, settings):
    for layer in layers_of(model):
        layer.self_attention.attention = CosineAttention()
    for layer in model.decoder.layers:
        layer.cross_attention.attention = CosineAttention()


def self_attention_of_keras(model, settings):
    for layer in layers_of(model):
        layer.self_attention = attention_of_keras(settings)


def cross_attention_of_keras(model, settings):
    for layer in model.decoder.layers:
        layer.cross_attention = attention_of_keras(settings)


def windowed_encoder(model, settings):
    for layer in model.encoder.layers:
        layer.self_attention = WindowedAttention.from_settings(settings)


def windowed(model, settings):
    for layer in layers_of(model):
        layer.self_attention = WindowedAttention.from_settings(settings)


def mean_attention(model, settings):
    for layer in layers_of(model):
        layer.self_attention = MeanAttention()
    for layer in model.decoder.layers:
        layer.cross_attention = MeanAttention()


def normalization(model, settings):
    for layer in layers_of(model):
        for name in ("add_norm_1", "add_norm_2", "add_norm_3"):
            if hasattr(layer, name):
                getattr(layer, name).normalization = keras.layers.RMSNormalization()
    model.encoder.final_norm = keras.layers.RMSNormalization()
    model.decoder.final_norm = keras.layers.RMSNormalization()


def no_residual(model, settings):
    for layer in layers_of(model):
        layer.add_norm_2 = NoResidual()


def learned_positions(model, settings):
    sizes = {"source_embedding": model.enc_vocab_size, "target_embedding": model.dec_vocab_size}
    for name, size in sizes.items():
        setattr(model, name, kt.PositionEmbeddingLayer(100, size, settings.d_model))


def embedding_of_keras(model, settings):
    model.source_embedding = keras.layers.Embedding(model.enc_vocab_size, settings.d_model)


def output_projection(model, settings):
    model.projection = keras.layers.Dense(model.dec_vocab_size, use_bias=False)


def encoder_layer(model, settings):
    model.encoder.layers = [ThreeSublayers(settings=settings), ConvolutionLayer(settings.d_model)]


def decoder_layer(model, settings):
    model.decoder.layers = (LateLayer(settings=settings), model.decoder.layers[0])


def shared_layers(model, settings):
    model.encoder.layers = [model.encoder.layers[0]] * 3
    model.decoder.layers = [model.decoder.layers[0]] * 2


def encoder(model, settings):
    model.encoder = ConvolutionLayer(settings.d_model)


def several_with_cache(model, settings):
    for replace in (feed_forward, score, normalization, no_residual, embedding_of_keras):
        replace(model, settings)
    output_projection(model, settings)


def several_without_cache(model, settings):
    for replace in (windowed, cross_attention_of_keras, feed_forward_of_keras, learned_positions):
        replace(model, settings)
    encoder_layer(model, settings)


REPLACEMENTS = {
    "several_with_cache": (several_with_cache, True),
    "several_without_cache": (several_without_cache, False),
    "feed_forward": (feed_forward, True),
    "feed_forward_of_keras": (feed_forward_of_keras, True),
    "score": (score, True),
    "self_attention_of_keras": (self_attention_of_keras, False),
    "cross_attention_of_keras": (cross_attention_of_keras, False),
    "windowed_encoder": (windowed_encoder, True),
    "windowed": (windowed, False),
    "mean_attention": (mean_attention, False),
    "normalization": (normalization, True),
    "no_residual": (no_residual, True),
    "learned_positions": (learned_positions, True),
    "embedding_of_keras": (embedding_of_keras, True),
    "output_projection": (output_projection, True),
    "encoder_layer": (encoder_layer, True),
    "decoder_layer": (decoder_layer, False),
    "shared_layers": (shared_layers, True),
    "encoder": (encoder, True),
}
