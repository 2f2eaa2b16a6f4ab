"""A `TransformerModel` or a language model computed with NumPy, for searches on a CPU."""

import math

import keras
import numpy as np
from keras import ops

from keras_transformer._utils.special_tokens import PADDING_ID, START_ID
from keras_transformer.layers._parts import changed_part
from keras_transformer.layers.rotary_embedding import rotary_frequencies
from keras_transformer.layers.sinusoidal_encoding import frequencies_of, waves_of
from keras_transformer.models.language_model import TransformerLanguageModel
from keras_transformer.models.transformer import TransformerModel


def _relu(x):
    return np.maximum(x, 0, out=x)


def _silu(x):
    with np.errstate(over="ignore"):  # exp(-x) = inf gives 0
        return x / (1 + np.exp(-x))


_ACTIVATIONS = {
    "relu": _relu,
    "silu": _silu,
    "swish": _silu,
}


# Newer fields of `BlockSettings`; a bias that depends on the distance is left to the layers.
_KNOWN = (
    "normalization", "gated", "h_kv", "use_bias", "qkv_bias", "qk_norm", "window", "rotary_scaling",
)  # fmt: skip
_READ = 128  # tokens of a prompt that are read at once


def supports_numpy(model):
    """Returns whether `NumpyTransformer` or `NumpyLanguageModel` computes a model.

    It must be a built `TransformerModel` or `TransformerLanguageModel`, not of a subclass and
    without replaced parts, that computes in float32 with weights in float32 and the activation relu
    or silu. Relative biases are left to the layers, in a translator also a window.
    """
    is_translator = type(model) is TransformerModel
    return (
        (is_translator or type(model) is TransformerLanguageModel)
        and model.built
        and model.settings.activation in tuple(_ACTIVATIONS)  # it may be a function
        and not model.settings.newer(known=_KNOWN)
        and not (is_translator and model.settings.window)
        and model.compute_dtype == "float32"
        and all(weight.dtype == "float32" for weight in model.weights)
        and changed_part(model) is None
    )


class NumpyTransformer:
    """The inference of a `TransformerModel` in NumPy, on a copy of its weights.

    Decoding consists of thousands of small operations, which NumPy starts in a microsecond each.
    Its arrays are of any size without compilation: sequences that have ended leave the batch, the
    cache is written in place, and attention reads only the part of it that is filled.

    Shape letters: B sentences, R rows, a multiple of B, S source length, N heads, D model size, V
    vocabulary.

    Args:
        model: a built model for which `supports_numpy` is true.
    """

    def __init__(self, model):
        activation, pre_norm = _ACTIVATIONS[model.settings.activation], model.settings.norm_first
        centers = _centers(model.settings)
        self._source = _Embedding(model.source_embedding, centers)
        self._target = self._source
        if not model.share_embeddings:
            self._target = _Embedding(model.target_embedding, centers)
        encoder_norm, decoder_norm = (
            _Norm(x.final_norm) if pre_norm else None for x in (model.encoder, model.decoder)
        )
        self._encoder_layers = [_EncoderLayer(x, activation) for x in model.encoder.layers]
        self._decoder_layers = [
            _DecoderLayer(x, activation, encoder_norm) for x in model.decoder.layers
        ]
        self._final_norm = decoder_norm.standardize if pre_norm else _same
        self._to_logits = _output_layer(model, model.target_embedding).after(decoder_norm)

    def start(self, source):
        """Encodes the source.

        Args:
            source: int32 (B, S), padded with 0.

        Returns:
            The `DecodingState` of one row per sentence.
        """
        is_padding = source == PADDING_ID
        mask = None
        if is_padding.any():
            mask = np.where(is_padding, np.float32(-1e9), np.float32(0))[:, None, None]  # (B,1,1,S)
        x = self._source(source, 0).reshape(source.size, -1)
        for layer in self._encoder_layers:
            x = layer(x, len(source), mask)
        x = self._final_norm(x)
        memory = [layer.cross_attention.start(x, len(source)) for layer in self._decoder_layers]
        # A translation is seldom longer than this; the cache grows if it is.
        length = source.shape[1] + 4
        caches = [layer.self_attention.start(len(source), length) for layer in self._decoder_layers]
        return DecodingState(caches, memory, mask, len(self._to_logits.bias))

    def step(self, tokens, position, state):
        """Computes the logits of the next token of each row.

        Args:
            tokens: integers (R,), the tokens at this position; at position 0 the start token.
            position: an integer, starting at 0.
            state: the `DecodingState`, which is updated.

        Returns:
            float32 (R, V), in memory that the next step reuses.
        """
        state.filled = position + 1
        x = self._target(tokens, position)
        for layer, cache, memory in zip(
            self._decoder_layers, state.caches, state.memory, strict=True
        ):
            x = layer.step(x, position, cache, memory, state.mask)
        return self._to_logits(self._final_norm(x), out=state.logits(len(x)))


class NumpyLanguageModel:
    """The inference of a `TransformerLanguageModel` in NumPy; see `NumpyTransformer`.

    Args:
        model: a built model for which `supports_numpy` is true.
    """

    def __init__(self, model):
        activation, pre_norm = _ACTIVATIONS[model.settings.activation], model.settings.norm_first
        norm = _Norm(model.encoder.final_norm) if pre_norm else None
        self._embedding = _Embedding(
            model.embedding, _centers(model.settings), model.scale_embeddings
        )
        self._layers = [_EncoderLayer(x, activation) for x in model.encoder.layers]
        self._final_norm = norm.standardize if pre_norm else _same
        self._to_logits = _output_layer(model, model.embedding).after(norm)
        self._window, self._hide_start = model.settings.window, model.hide_start

    def start(self, source):
        """Returns the empty `DecodingState`; the source has B rows, and its values are ignored."""
        caches = [layer.self_attention.start(len(source), 64) for layer in self._layers]
        for cache in caches:
            for x in cache:
                x[:, :, 0] = 0  # a hidden start token stays in it, with a weight of 0
        return DecodingState(caches, [], None, len(self._to_logits.bias))

    def step(self, tokens, position, state):
        """Computes the logits of the next token of each row; see `NumpyTransformer.step`."""
        state.filled = position + 1
        logits = state.logits(len(tokens))
        if self._hides(tokens, position, state):
            logits[:] = 0
            return logits
        x = self._embedding(tokens, position)
        for layer, cache in zip(self._layers, state.caches, strict=True):
            x = layer.step(x, position, cache, state.first)
        return self._to_logits(self._final_norm(x), out=logits)

    def read(self, tokens, state):
        """Reads the first tokens of each row at once, such as a prompt, without computing logits.

        Args:
            tokens: int32 (R, T), of which the first is the start token.
            state: the `DecodingState`, which is updated.
        """
        if not tokens.size:
            return
        state.filled = tokens.shape[1]
        first = int(self._hides(tokens[:, 0], 0, state))
        for start in range(first, tokens.shape[1], _READ):
            part = tokens[:, start : start + _READ]
            end = start + part.shape[1]
            mask = np.tri(part.shape[1], end, start, dtype=bool)
            if self._window is not None:
                mask &= ~np.tri(part.shape[1], end, start - self._window, dtype=bool)
            mask[:, : state.first] = False
            mask = np.where(mask, np.float32(0), np.float32(-1e9))
            x = self._embedding(part, start).reshape(part.size, -1)
            for layer, cache in zip(self._layers, state.caches, strict=True):
                x = layer.extend(x, len(part), start, cache, mask)

    def _hides(self, tokens, position, state):
        """Returns whether this is a hidden start token, after which nothing attends to it."""
        if position == 0 and self._hide_start and (tokens == START_ID).all():
            state.first = 1
        return position < state.first


class DecodingState:
    """The KV cache of the rows and the memory of their sentences.

    Args:
        caches: for each layer, keys and values, (R, N, capacity, H).
        memory: for each layer, keys and values of the source, (B, N, S, H).
        mask: float32 (B, 1, 1, S), added to the scores; or None.
        vocab_size: V.

    Attributes:
        first: first visible position of the caches.
        filled: number of filled positions of the caches.
    """

    def __init__(self, caches, memory, mask, vocab_size):
        self.caches = caches
        self.memory = memory
        self.mask = mask
        self.first = self.filled = 0
        self._logits = np.empty((0, vocab_size), "float32")

    def logits(self, rows):
        """Returns memory for the logits, float32 (rows, V), which the steps share."""
        if rows > len(self._logits):
            self._logits = np.empty((rows, self._logits.shape[1]), "float32")
        return self._logits[:rows]

    def select(self, rows, sentences=None):
        """Reorders and repeats the rows, and drops sentences.

        Args:
            rows: integers, the present row of each new row. The rows of a sentence are adjacent.
            sentences: integers, the present sentence of each new one; None if all stay.
        """
        if sentences is not None:
            self.memory = [tuple(x[sentences] for x in pair) for pair in self.memory]
            self.mask = None if self.mask is None else self.mask[sentences]
        elif np.array_equal(rows, np.arange(len(rows))):
            return
        for pair in self.caches:
            for i, x in enumerate(pair):
                pair[i] = np.empty((len(rows), *x.shape[1:]), x.dtype)
                pair[i][:, :, : self.filled] = x[rows, :, : self.filled]


class _Dense:
    """A dense layer, y = x W + b."""

    def __init__(self, kernel, bias):
        self.kernel = kernel
        self.bias = bias
        self._row = bias[None]  # is added faster to a single row

    @classmethod
    def of(cls, layer):
        bias = _array(layer.bias) if layer.use_bias else np.zeros(layer.units, "float32")
        return cls(_array(layer.kernel), bias)

    def __call__(self, x, out=None):
        y = x.dot(self.kernel, out=out)  # takes half the time of `@` for a single row
        y += self._row
        return y

    def times(self, factor):
        factor = np.float32(factor)
        return _Dense(self.kernel * factor, self.bias * factor)

    def after(self, norm):
        """Returns a layer that reads the standardized vector instead of the normalized one.

        (γu + β) W + b = u (diag(γ) W) + (βW + b).
        """
        if norm is None:
            return self
        kernel = norm.gamma[:, None] * self.kernel
        return _Dense(kernel, norm.beta @ self.kernel + self.bias)

    def centered(self, centers):
        """Returns a layer whose outputs have mean 0 if `centers`."""
        if not centers:
            return self
        return _Dense(_centered(self.kernel), _centered(self.bias))


class _Norm:
    """Layer normalization, or RMS normalization, which subtracts no mean."""

    def __init__(self, layer):
        is_rms = isinstance(layer, keras.layers.RMSNormalization)
        gamma = _array(layer.scale if is_rms else layer.gamma)
        self.gamma = gamma * np.float32(math.sqrt(len(gamma)))
        self.beta = np.zeros_like(gamma) if is_rms else _array(layer.beta)
        self._center = _same if is_rms else _centered
        self.epsilon = np.full((1, 1), layer.epsilon * len(gamma), "float32")

    def standardize(self, x):
        """Divides vectors of mean 0 by √D times their standard deviation, any by their norm."""
        squares = np.vecdot(x, x, keepdims=True)
        squares += self.epsilon
        return x / np.sqrt(squares, out=squares)

    def __call__(self, x):
        y = self.standardize(self._center(x))
        y *= self.gamma
        y += self.beta
        return y


class _PositionTable:
    """A table with a row per position, made from the sinusoidal encodings; grows on demand.

    Args:
        frequencies: those of the encodings, float32 (D / 2,).
        convert: function from encodings, float32 (T, D), to rows of the table.
    """

    def __init__(self, frequencies, convert):
        self._frequencies, self._convert = frequencies, convert
        self._rows = ()

    def __call__(self, start, end):
        rows = self._rows  # other threads may replace it
        if end > len(rows):
            # At least 64, which are enough for most sentences: JAX compiles anew for each length.
            waves = waves_of(self._frequencies, max(64, 2 * end))
            rows = self._rows = self._convert(_array(waves))
        return rows[start:end]


class _Embedding:
    """Word embeddings plus sinusoidal positions, unless attention is rotary."""

    def __init__(self, layer, centers, scale=True):
        center = _centered if centers else _same
        words = _array(layer.words.embeddings)
        self._words = center(words * np.float32(math.sqrt(layer.output_dim)) if scale else words)
        self._positions = None
        if layer.base is not None:
            self._positions = _PositionTable(frequencies_of(layer.output_dim, layer.base), center)

    def __call__(self, ids, start):
        words = self._words[ids]
        if self._positions is None:
            return words
        end = start + (ids.shape[1] if ids.ndim == 2 else 1)
        return words + self._positions(start, end)


class _Block:
    """Base class of the encoder and decoder layers: residual connections, feed-forward network.

    In pre-norm layers, nothing but layer normalizations reads the residual x, and they subtract its
    mean. So what is added to x is centered here, once, in the weights: x has mean 0, its
    normalization only divides by the standard deviation, and γ and β move to the layer that reads
    it. RMS normalizations subtract no mean, so nothing is centered.
    """

    def __init__(self, layer, activation, *add_norms):
        self.pre_norm = layer.settings.norm_first
        self.norms = [_Norm(x.normalization) for x in add_norms]
        inner, outer = _Dense.of(layer.feed_forward.inner), _Dense.of(layer.feed_forward.outer)
        self.inner = inner.after(self.norm_before(-1))
        self.outer = outer.centered(_centers(layer.settings))
        self.activation, self.gate = activation, None
        if layer.settings.gated:
            self.gate = _Dense.of(layer.feed_forward.gate).after(self.norm_before(-1))

    def norm_before(self, i):
        return self.norms[i] if self.pre_norm else None

    def residual(self, x, i, sublayer, *arguments):
        if self.pre_norm:
            y = sublayer(self.norms[i].standardize(x), *arguments)
            y += x
            return y
        return self.norms[i](x + sublayer(x, *arguments))

    def feed_forward(self, x):
        if self.gate is None:
            return self.outer(self.activation(self.inner(x)))
        return self.outer(self.activation(self.gate(x)) * self.inner(x))


class _EncoderLayer(_Block):
    def __init__(self, layer, activation):
        super().__init__(layer, activation, layer.add_norm_1, layer.add_norm_2)
        self.self_attention = _SelfAttention(layer, self.norm_before(0))

    def __call__(self, x, sentences, mask):
        x = self.residual(x, 0, self.self_attention, sentences, mask)
        return self.residual(x, 1, self.feed_forward)

    def step(self, x, position, cache, first):
        x = self.residual(x, 0, self.self_attention.step, position, cache, first)
        return self.residual(x, 1, self.feed_forward)

    def extend(self, x, rows, position, cache, mask):
        x = self.residual(x, 0, self.self_attention.extend, rows, position, cache, mask)
        return self.residual(x, 1, self.feed_forward)


class _DecoderLayer(_Block):
    def __init__(self, layer, activation, encoder_norm):
        add_norms = (layer.add_norm_1, layer.add_norm_2, layer.add_norm_3)
        super().__init__(layer, activation, *add_norms)
        self.self_attention = _SelfAttention(layer, self.norm_before(0))
        self.cross_attention = _CrossAttention(layer, self.norm_before(1), encoder_norm)

    def step(self, x, position, cache, memory, mask):
        x = self.residual(x, 0, self.self_attention.step, position, cache)
        x = self.residual(x, 1, self.cross_attention.step, memory, mask)
        return self.residual(x, 2, self.feed_forward)


class _SelfAttention:
    def __init__(self, block, norm):
        layer, settings, d_k = block.self_attention, block.settings, block.settings.d_k
        self.heads = settings.h
        self.keys_heads = settings.h_kv or settings.h
        self.sizes = (d_k, settings.d_v)
        self.splits = (self.heads * d_k, (self.heads + self.keys_heads) * d_k)
        self.window = settings.window
        query, key, value = (
            _Dense.of(getattr(layer, f"{name}_projection")) for name in ("query", "key", "value")
        )
        self.rotation, self.normalize = None, _same
        if settings.qk_norm:
            scales = (_query_scale(layer), _array(layer.key_norm.scale))
            scales = np.repeat(scales, (self.heads, self.keys_heads), axis=0)
            self.normalize = _HeadNorm(scales, settings.epsilon)
        else:
            query = query.times(d_k**-0.5)
        if settings.rotary_base is not None:
            self.rotation = _Rotation(settings)
            query, key = (self.rotation.paired(x) for x in (query, key))
            if settings.qk_norm:
                self.normalize.scales = self.normalize.scales[:, self.rotation.order]
        self.projections = _joined(query, key, value).after(norm)  # one product
        self.output = _Dense.of(layer.output_projection).centered(_centers(settings))

    def __call__(self, x, sentences, mask):
        queries, keys, values = self._project(x, sentences, 0)
        return self._attend(queries, keys, values, None if mask is None else mask[:, None])

    def extend(self, x, rows, position, cache, mask):
        """As `step` for several positions of each row; the mask, (T, S), is added to the scores."""
        queries, *new = self._project(x, rows, position)
        end = position + new[0].shape[3]
        while end > cache[0].shape[2]:
            cache[:] = (_grown(z) for z in cache)
        for part, z in zip(cache, new, strict=True):
            part[:, :, position:end] = z[:, :, 0]
        keys, values = (z[:, :, None, :end] for z in cache)
        return self._attend(queries, keys, values, mask)

    def _project(self, x, rows, start):
        """Returns queries, (R, M, N / M, T, H), and keys and values, (R, M, 1, T, H)."""
        first, second = self.splits
        y = self.projections(x)
        length = len(x) // rows
        self.normalize(y[:, :second])
        if self.rotation:
            self.rotation(y.reshape(rows, length, -1), start, start + length)
        shape = (rows, length, self.keys_heads)
        groups = self.heads // self.keys_heads
        parts = ((y[:, :first], groups), (y[:, first:second], 1), (y[:, second:], 1))
        return [z.reshape(*shape, heads, -1).transpose(0, 2, 3, 1, 4) for z, heads in parts]

    def _attend(self, queries, keys, values, mask):
        scores = queries @ keys.swapaxes(3, 4)  # (R, M, N / M, T, S)
        if mask is not None:
            scores += mask
        context = (softmax(scores) @ values).transpose(0, 3, 1, 2, 4)
        return self.output(context.reshape(queries.shape[0] * queries.shape[3], -1))

    def start(self, rows, length):
        return [np.empty((rows, self.keys_heads, length, size), "float32") for size in self.sizes]

    def step(self, x, position, cache, start=0):
        if position == cache[0].shape[2]:
            cache[:] = (_grown(x) for x in cache)
        first, second = self.splits
        y = self.projections(x)
        self.normalize(y[:, :second])
        if self.rotation:
            self.rotation(y, position, position + 1)
        queries, keys, values = y[:, :first], y[:, first:second], y[:, second:]
        shape = (len(x), self.keys_heads, -1)
        cache[0][:, :, position] = keys.reshape(shape)
        cache[1][:, :, position] = values.reshape(shape)
        if self.window is not None:
            start = max(start, position + 1 - self.window)
        keys, values = (z[:, :, start : position + 1] for z in cache)
        if self.keys_heads == self.heads:
            weights = softmax((keys @ queries.reshape(*shape, 1))[..., 0])[:, :, None]
        else:
            queries = queries.reshape(*shape, self.sizes[0])  # (R, M, N / M, H)
            weights = softmax(queries @ keys.swapaxes(2, 3))
        context = weights @ values
        return self.output(context.reshape(len(x), -1))


class _HeadNorm:
    """RMS normalization of the queries or keys of each head.

    Args:
        scales: float32 (heads, H).
        epsilon: is added to the mean of the squares.
    """

    def __init__(self, scales, epsilon):
        self.scales = scales
        self._epsilon = np.float32(epsilon)

    def __call__(self, y):
        """Normalizes vectors, float32 (rows, heads * H), in place."""
        z = y.reshape(len(y), *self.scales.shape)
        squares = np.vecdot(z, z, keepdims=True) / np.float32(z.shape[-1])
        y[:] = (z / np.sqrt(squares + self._epsilon) * self.scales).reshape(len(y), -1)


def _query_scale(layer):
    """Returns the scale of the normalized queries of an attention layer, divided by √H."""
    scale = _array(layer.query_norm.scale)
    return scale * np.float32(len(scale) ** -0.5)


class _Rotation:
    """Rotary position embeddings of queries and keys, as products of complex numbers.

    Args:
        settings: `BlockSettings` of the attention.
    """

    def __init__(self, settings):
        size, base = settings.d_k, settings.rotary_base
        self._heads = settings.h + (settings.h_kv or settings.h)  # of queries and keys
        # The real and the imaginary part of a number are adjacent.
        self.order = np.arange(size).reshape(2, -1).T.ravel()
        frequencies = rotary_frequencies(size, base, settings.rotary_scaling)
        self._factors = _PositionTable(frequencies, self._to_factors)

    def _to_factors(self, waves):
        return np.tile(waves[:, 1::2] + 1j * waves[:, ::2], self._heads)  # cos + i sin

    def paired(self, projection):
        """Returns the projection of the queries or the keys with the order that rotating needs."""
        heads = len(projection.bias) // len(self.order)
        order = (len(self.order) * np.arange(heads)[:, None] + self.order).ravel()
        return _Dense(projection.kernel[:, order], projection.bias[order])

    def __call__(self, y, start, end):
        """Rotates queries and keys in place.

        Args:
            y: float32 (..., T, Q), which begins with the queries and the keys of all heads.
            start, end: first position, and the one after the last.
        """
        factors = self._factors(start, end)
        numbers = y[..., : 2 * factors.shape[1]].view("complex64")
        numbers *= factors


class _CrossAttention:
    def __init__(self, block, norm, encoder_norm):
        layer, settings = block.cross_attention, block.settings
        self.heads = settings.h
        self.keys_heads = settings.h_kv or settings.h
        query = _Dense.of(layer.query_projection)
        self.normalize_query = self.normalize_key = _same
        if settings.qk_norm:
            scales = np.tile(_query_scale(layer), (self.heads, 1))
            self.normalize_query = _HeadNorm(scales, settings.epsilon)
            scales = np.tile(_array(layer.key_norm.scale), (self.keys_heads, 1))
            self.normalize_key = _HeadNorm(scales, settings.epsilon)
        else:
            query = query.times(settings.d_k**-0.5)
        self.query = query.after(norm)
        self.key = _Dense.of(layer.key_projection).after(encoder_norm)
        self.value = _Dense.of(layer.value_projection).after(encoder_norm)
        self.output = _Dense.of(layer.output_projection).centered(_centers(settings))

    def start(self, x, sentences):
        shape = (sentences, len(x) // sentences, self.keys_heads, -1)
        keys = self.key(x)
        self.normalize_key(keys)
        pair = (keys.reshape(shape), self.value(x).reshape(shape))
        return tuple(np.ascontiguousarray(y.swapaxes(1, 2)) for y in pair)

    def step(self, x, memory, mask):
        keys, values = memory
        groups = self.heads // self.keys_heads
        queries = self.query(x)
        self.normalize_query(queries)
        queries = queries.reshape(len(keys), -1, self.keys_heads, groups, keys.shape[-1])
        queries = queries.transpose(0, 2, 3, 1, 4)  # (B, M, N / M, K, H)
        scores = queries @ keys[:, :, None].swapaxes(3, 4)  # (B, M, N / M, K, S)
        if mask is not None:
            scores += mask[:, None]
        context = (softmax(scores) @ values[:, :, None]).transpose(0, 3, 1, 2, 4)
        return self.output(context.reshape(len(x), -1))


def _grown(x):
    """Doubles the number of positions of a cache."""
    new = np.empty((*x.shape[:2], 2 * x.shape[2], x.shape[3]), x.dtype)
    new[:, :, : x.shape[2]] = x
    return new


def _output_layer(model, embedding):
    if not model.tie_output:
        return _Dense.of(model.projection)
    kernel = np.ascontiguousarray(_array(embedding.words.embeddings).T)
    has_bias = getattr(model, "output_bias", False)
    return _Dense(kernel, _array(model.bias) if has_bias else np.zeros(kernel.shape[1], "float32"))


def _centers(settings):
    """Returns whether the residual has mean 0, see `_Block`."""
    return settings.norm_first and settings.normalization == "layer"


def _joined(*layers):
    kernel = np.concatenate([layer.kernel for layer in layers], axis=1)
    return _Dense(kernel, np.concatenate([layer.bias for layer in layers]))


def softmax(x):
    """Replaces scores by their softmax over the last axis."""
    x -= np.maximum.reduce(x, axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= np.add.reduce(x, axis=-1, keepdims=True)
    return x


def _centered(x):
    return x - x.mean(axis=-1, keepdims=True)


def _same(x):
    return x


def _array(variable):
    return np.array(ops.convert_to_numpy(variable))
