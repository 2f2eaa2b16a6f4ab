"""Masks that Keras attaches to outputs, such as those of an embedding with `mask_zero=True`."""

import warnings

import keras
import numpy as np
import pytest
from layer_contract import normal, numpy

import keras_transformer as kt

SETTINGS = kt.BlockSettings(h=2, d_model=8, d_ff=16, n=1)
QUERIES = normal(1, 3, 8)
# Layers, and the number of inputs: queries are not masked, the last ones are.
LAYERS = {
    "DotProductAttention": (kt.DotProductAttention, 3),
    "MultiHeadAttention": (lambda: kt.MultiHeadAttention(2, 4, 4, 8), 3),
    "AdditiveAttention": (lambda: kt.AdditiveAttention(4), 2),
    "LuongAttention": (kt.LuongAttention, 2),
    "BahdanauDecoder": (lambda: kt.BahdanauDecoder(8, 8), 2),
    "EncoderLayer": (lambda: kt.EncoderLayer(settings=SETTINGS), 1),
    "Encoder": (lambda: kt.Encoder(settings=SETTINGS), 1),
    "DecoderLayer": (lambda: kt.DecoderLayer(settings=SETTINGS), 2),
    "Decoder": (lambda: kt.Decoder(settings=SETTINGS), 2),
    "SequenceAttention": (lambda: kt.SequenceAttention(9), 1),
}


@pytest.mark.parametrize("make, inputs", LAYERS.values(), ids=LAYERS)
def test_an_implicit_mask_hides_padding(make, inputs):
    embedding, layer = keras.layers.Embedding(9, 8, mask_zero=True), make()

    def outputs(*sentences):
        x = embedding(np.array(sentences))
        queries = np.repeat(QUERIES, len(sentences), axis=0)
        return numpy(layer(*([x] if inputs == 1 else [queries] + [x] * (inputs - 1))))

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # Keras warns where a mask is lost
        alone, (padded, longer) = outputs([3, 4, 5]), outputs([3, 4, 5, 0, 0], [3, 4, 5, 6, 7])
    shown = slice(3) if alone.ndim == 3 else ...
    np.testing.assert_allclose(padded[shown], alone[0], atol=1e-5)
    assert np.abs(longer[shown] - alone[0]).max() > 1e-4


def test_an_implicit_mask_and_an_attention_mask_both_hide():
    embedding, encoder = keras.layers.Embedding(9, 8, mask_zero=True), LAYERS["Encoder"][0]()
    both = encoder(embedding(np.array([[3, 4, 0]])), attention_mask=kt.causal_mask(3))
    alone = encoder(embedding(np.array([[3, 4]])), attention_mask=kt.causal_mask(2))
    np.testing.assert_allclose(numpy(both)[:, :2], numpy(alone), atol=1e-5)
