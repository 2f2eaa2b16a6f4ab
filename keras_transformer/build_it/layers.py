"""Checks of the steps 6 to 9: from the norm to the model."""

import keras
import numpy as np
from keras.ops import convert_to_numpy as to_numpy

import keras_transformer as kt
from keras_transformer import testing
from keras_transformer.build_it.attention import CLOSE
from keras_transformer.build_it.checking import (
    Wrong,
    call,
    call_for_numbers,
    compare,
    expect,
    softmax,
)
from keras_transformer.build_it.parts import (
    DECODER_LAYER,
    ENCODER_LAYER,
    FEED_FORWARD,
    MODEL,
    NORM,
    check_parts,
    copy_weights,
    find,
    make,
    shake,
)

SIZES = kt.BlockSettings(h=2, d_model=8, d_ff=12, n=2, rate=0.0, norm_first=True)


def _vectors(length, seed=0):
    return np.random.default_rng(seed).normal(size=(2, length, 8)).astype("float32")


def check_norm(yours):
    x = 0.003 * _vectors(5) + 0.001  # small, so that the 1e-5 counts
    layer, theirs = make(yours, "LayerNorm"), kt.LayerNormalization()
    theirs(x)
    scale, shift = shake(theirs).get_weights()
    call(layer, x)
    check_parts(layer, NORM)
    expect(tuple(layer.scale.shape) == (8,), "`scale` and `shift` have D numbers each: shape[-1].")
    ones = to_numpy(layer.scale), to_numpy(layer.shift)
    expect((ones[0] == 1).all() and (ones[1] == 0).all(), "`scale` begins with 1, `shift` with 0.")
    copy_weights(layer, theirs, NORM)

    def normal(axis=-1, epsilon=1e-5, ddof=0):
        variance = x.var(axis=axis, keepdims=True, ddof=ddof)
        return (x - x.mean(axis=axis, keepdims=True)) / np.sqrt(variance + epsilon)

    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    compare(
        call_for_numbers(layer, x, shape=x.shape),
        to_numpy(theirs(x)),
        "Each vector alone gets mean 0 and variance 1, then `scale` and `shift`.",
        (normal(axis=1) * scale + shift, "The mean runs over the words. It should run over the "
         "numbers of each vector, the last axis."),
        (normal(epsilon=0) * scale + shift, "The 1e-5 is missing: equal numbers would give NaN."),
        ((x - mean) / (np.sqrt(variance) + 1e-5) * scale + shift, "1e-5 is added to the root. It "
         "belongs to the variance, under it."),
        ((x - mean) / (variance + 1e-5) * scale + shift, "Divide by the root of the variance."),
        (x / np.sqrt(variance + 1e-5) * scale + shift, "The mean is not subtracted."),
        (normal() * scale, "`shift` is not added."),
        tolerance=1e-4,  # the library computes the variance in another way
    )  # fmt: skip


def check_add_norm(yours):
    function, x, norm = find(yours, "add_norm"), np.array([3.0]), np.square
    found = call_for_numbers(function, x, lambda y: 10 * y + 1, norm)
    compare(
        found,
        np.array([94.0]),
        "For x = 3, norm(x) = x² and sublayer(y) = 10y + 1, the result is 3 + 91.",
        ([1156], "This is post-norm, norm(x + f(x)). Here the norm comes first: x + f(norm(x))."),
        ([91], "The residual connection is missing: x + …"),
        ([100], "The normalized x is added. Add x itself: the gradient has a free way back."),
        ([34], "The norm is not used: the sub-layer reads norm(x)."),
        ([964], "The norm is around the sub-layer's output. The sub-layer should read norm(x)."),
        ([12], "The sub-layer is not used."),
    )  # fmt: skip


def check_feed_forward(yours):
    x, layer, theirs = _vectors(5), make(yours, "FeedForward", 8, 12), kt.FeedForward(12, 8)
    theirs(x)
    w1, b1, w2, b2 = shake(theirs).get_weights()
    shape = np.shape(call(layer, x))
    expect(shape != (2, 5, 12), "The result has the size d_ff: `outer` is missing, or too large.")
    expect(shape == x.shape, f"Expected (B, T, D) = {x.shape}, not {shape}.")
    copy_weights(layer, theirs, FEED_FORWARD)
    found, inner = call_for_numbers(layer, x), x @ w1 + b1

    def outer(y):
        return y @ w2 + b2

    relu = np.maximum(inner, 0)
    others = {name: to_numpy(getattr(keras.activations, name)(inner)) for name in
              ("gelu", "tanh", "sigmoid", "silu", "softmax", "elu", "leaky_relu")}  # fmt: skip
    compare(
        found,
        to_numpy(theirs(x)),
        "The result is max(0, x W₁ + b₁) W₂ + b₂.",
        (outer(inner), "Nothing stands between the two layers: without relu they are one matrix."),
        (np.maximum(outer(relu), 0), "There is a relu after `outer`: a vector could only grow."),
        (np.maximum(outer(inner), 0), "The relu is at the end. It belongs between the layers."),
        (outer(np.maximum(x, 0) @ w1 + b1), "The relu is applied to x. It follows `inner`."),
        (x + outer(relu), "x is added here. `add_norm` does that."),
        *((outer(y), f"The activation is {name}, not relu.") for name, y in others.items()),
        tolerance=CLOSE,
    )  # fmt: skip
    changed = x.copy()
    changed[:, 1] += 1
    others = np.delete(call_for_numbers(layer, changed) - found, 1, axis=1)
    expect(np.abs(others).max() < CLOSE, "A word changes what another word becomes.")


def _residual(x, f, norm):
    return x + f(norm(x))


def _attend(layer, memory=None, mask=None):
    """Returns the attention of a library layer as a function of what is normalized."""

    def function(y):
        z = y if memory is None else memory
        return layer(y, z, z, attention_mask=mask)

    return function


def check_encoder_layer(yours):
    x = keras.ops.convert_to_tensor(_vectors(5))  # PyTorch adds no array to a tensor
    mask = np.arange(5)[None, None] < np.array([5, 3])[:, None, None]
    layer, t = make(yours, "EncoderLayer", 2, 8, 12, 0.5), kt.EncoderLayer(settings=SIZES)
    t(x)
    shake(t)
    check_parts(layer, ENCODER_LAYER)
    call(layer, x, mask)
    copy_weights(layer, t, ENCODER_LAYER)
    attend, f, r = _attend(t.self_attention, mask=mask), t.feed_forward, _residual
    n1, n2 = t.add_norm_1.normalization, t.add_norm_2.normalization
    y = r(x, attend, n1)
    compare(
        call_for_numbers(layer, x, mask, shape=x.shape),
        to_numpy(t(x, attention_mask=mask)),
        "Two lines: x = add_norm(x, attention, norm_1), then feed_forward with norm_2.",
        *_all(
            (r(r(x, _attend(t.self_attention), n1), f, n2), "The mask is not passed to attention."),
            (f(n2(y)), "The residual connection around the feed-forward network is missing."),
            (r(attend(n1(x)), f, n2), "The residual connection around attention is missing."),
            (n2((z := n1(x + attend(x))) + f(z)), "This is post-norm: normalize what each reads."),
            (r(r(x, f, n2), attend, n1), "Attention comes first, then the feed-forward network."),
            (r(x + _attend(t.self_attention, x, mask)(n1(x)), f, n2), "The keys are not normal: "
             "queries, keys and values come from the same normalized y."),
        ),
        tolerance=CLOSE,
    )  # fmt: skip
    _check_dropout(layer, x)


def _all(*mistakes):
    return [(to_numpy(result), sentence) for result, sentence in mistakes]


def _check_dropout(layer, *inputs, **options):
    quiet, noisy = (
        call_for_numbers(layer, *inputs, training=training, **options) for training in (False, True)
    )
    expect(
        np.abs(quiet - noisy).max() > CLOSE,
        f"{type(layer).__name__} computes the same in training: `dropout` is not used.",
    )


def check_decoder_layer(yours):
    x, z = (keras.ops.convert_to_tensor(_vectors(4 + i, seed=i)) for i in range(2))
    causal = np.tile(np.tri(4, dtype=bool), (2, 1, 1))
    cross = np.arange(5)[None, None] < np.array([5, 3])[:, None, None]
    layer, t = make(yours, "DecoderLayer", 2, 8, 12, 0.5), kt.DecoderLayer(settings=SIZES)
    t(x, z)
    shake(t)
    check_parts(layer, DECODER_LAYER)
    call(layer, x, z, causal, cross)
    copy_weights(layer, t, DECODER_LAYER)
    attend, look = _attend(t.self_attention, mask=causal), _attend(t.cross_attention, z, cross)
    f, r = t.feed_forward, _residual
    n1, n2, n3 = (getattr(t, f"add_norm_{i}").normalization for i in (1, 2, 3))
    y = r(x, attend, n1)

    def rest(y):
        return r(r(y, look, n2), f, n3)

    compare(
        call_for_numbers(layer, x, z, causal, cross, shape=x.shape),
        to_numpy(t(x, z, causal, cross)),
        "Three lines: attention, cross_attention, feed_forward, each in an `add_norm`.",
        *_all(
            (rest(r(x, _attend(t.self_attention), n1)), "self_mask is not used: a word sees those "
             "that come later."),
            (r(r(y, _attend(t.cross_attention, z), n2), f, n3), "cross_mask is not used: the "
             "padding of the source is seen."),
            (r(r(y, _attend(t.cross_attention, mask=causal), n2), f, n3), "Cross-attention looks "
             "at x, with self_mask. Its keys and values come from `encoded`."),
            (r(r(y, _attend(t.cross_attention), n2), f, n3), "Cross-attention looks at x. Its keys "
             "and values come from `encoded`."),
            (r(r(y, _attend(t.cross_attention, n2(z), cross), n2), f, n3), "`encoded` is "
             "normalized once more. The encoder has done it."),
            (r(look(n2(y)), f, n3), "The residual connection around cross-attention is missing."),
        ),
        tolerance=CLOSE,
    )  # fmt: skip
    _check_dropout(layer, x, z)


def check_model(yours):
    source = np.array([[5, 7, 8, 9, 3], [4, 6, 3, 0, 0]], "int32")
    target = np.array([[2, 8, 9, 7], [2, 5, 0, 0]], "int32")
    model = make(yours, "Transformer", 10, 12, 2, 8, 12, 2, 0.0)
    check_parts(model, MODEL)
    theirs = kt.TransformerModel(10, 12, settings=SIZES)
    theirs((source, target))
    shake(theirs)
    shape = np.shape(call(model, (source, target)))
    expect(shape[1:] != (5, 12), "The logits are of the source: the decoder reads the target.")
    expect(shape[1:] != (4, 8), "The result has vectors of D: project them to the words.")
    expect(shape == (2, 4, 12), f"Expected logits of shape (B, T, V) = (2, 4, 12), not {shape}.")
    copy_weights(model, theirs, MODEL)
    found = call_for_numbers(model, (source, target))
    _check_laws(model, source, target)
    expect(
        not np.allclose(found.sum(axis=-1), 1, atol=1e-4),
        "These are probabilities. Return logits: the loss computes the softmax itself.",
    )
    right = to_numpy(theirs((source, target)))
    if not np.allclose(found, right, CLOSE, CLOSE):
        mistakes = _model_mistakes(theirs, source, target)
        compare(found, right, "Compare the order of the parts.", *mistakes, tolerance=CLOSE)
    noisy = make(yours, "Transformer", 10, 12, 2, 8, 12, 0, 0.5)  # without layers
    _check_dropout(noisy, (source, target))


def _check_laws(model, source, target):
    """Checks what must and must not influence the logits, which no comparison explains."""
    laws = (
        ("Padding of the source changes the logits. Both the encoder's layers and the "
         "cross-attention need padding_mask(source).",
         lambda: testing.check_padding(lambda x, _: model((x, target)), source)),
        ("The source has no influence: pass what `encode` returns to every decoder layer.",
         lambda: testing.check_inputs_used(lambda x: model((x, target[:1])), source[:1])),
        ("A later word changes earlier logits: the self-attention of the decoder needs "
         "causal_mask and padding_mask, both (logical_and).",
         lambda: testing.check_no_future_leak(lambda x: model((source[:1], x)), target[:1])),
    )  # fmt: skip
    for sentence, check in laws:
        try:
            check()
        except AssertionError as error:
            raise Wrong(sentence) from error


def _model_mistakes(t, source, target):
    """Yields what a model with one mistake would return, and the sentence that names it."""
    padding, both = kt.padding_mask(source), kt.causal_mask(4)
    encoded, embed = t.encode(source), t.source_embedding(source)

    def decode(encoded, mask=None, layers=t.decoder.layers):
        mask = kt.combine_masks(kt.padding_mask(target), both) if mask is None else mask
        x = t.target_embedding(target)
        for layer in layers:
            x = layer(x, encoded, mask, padding)
        return t.projection(t.decoder.final_norm(x))

    def encode(layers):
        x = embed
        for layer in layers:
            x = layer(x, attention_mask=padding)
        return x

    first, norm = t.encoder.layers[:1], t.encoder.final_norm
    yield from _all(
        (decode(encoded, both[None]), "The padding of the target is seen: combine both masks."),
        (decode(norm(embed)), "The layers of the encoder are not used."),
        (decode(norm(encode(first))), "Only the first layer of the encoder is used. Does each "
         "layer read what the one before has returned?"),
        (decode(norm(t.encoder.layers[1](embed, attention_mask=padding))), "Only the last layer "
         "of the encoder counts. Does each layer read what the one before has returned?"),
        (decode(encoded, layers=t.decoder.layers[:1]), "Only the decoder's first layer is used."),
        (decode(encoded, layers=t.decoder.layers[1:]), "Only the decoder's last layer counts. Does "
         "each layer read what the one before has returned?"),
        (decode(encoded, layers=t.decoder.layers[::-1]), "The decoder's layers run backwards."),
        (softmax(to_numpy(decode(encoded))), "These are probabilities. Return logits."),
    )  # fmt: skip
