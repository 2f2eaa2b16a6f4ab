"""Masks that other libraries would take are rejected, with what to pass instead."""

import numpy as np
import pytest
from layer_contract import normal

from keras_transformer import (
    AdditiveAttention,
    BlockSettings,
    Decoder,
    DecoderLayer,
    DotProductAttention,
    Encoder,
    EncoderLayer,
    LuongAttention,
    MultiHeadAttention,
    SequenceAttention,
    combine_masks,
)

SETTINGS = BlockSettings(h=2, d_model=8, d_ff=16, rate=0.0)
X = normal(2, 3, 8)
MASK = np.ones((2, 1, 3), dtype=bool)
CALLS = {
    "DotProductAttention": lambda **mask: DotProductAttention()(X, X, X, **mask),
    "MultiHeadAttention": lambda **mask: MultiHeadAttention(2, 4, 4, 8)(X, X, X, **mask),
    "EncoderLayer": lambda **mask: EncoderLayer(settings=SETTINGS)(X, **mask),
    "Encoder": lambda **mask: Encoder(settings=SETTINGS)(X, **mask),
    "AdditiveAttention": lambda **mask: AdditiveAttention(4)(X, X, **mask),
    "LuongAttention": lambda **mask: LuongAttention()(X, X, **mask),
    "SequenceAttention": lambda **mask: SequenceAttention(3)(X, **mask),
}
every_layer = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@every_layer
@pytest.mark.parametrize("dtype", ("float32", "int32", "uint8"))
def test_masks_of_numbers_are_refused(call, dtype):
    assert call(attention_mask=MASK).shape[0] == 2
    with pytest.raises(ValueError, match=f"must be boolean, True = may attend.*dtype {dtype}"):
        call(attention_mask=MASK.astype(dtype))


def test_additive_masks_are_refused_when_they_are_combined():
    with pytest.raises(ValueError, match="must be boolean"):
        combine_masks(MASK, np.array([[0.0, -1e9, 0.0]]))


@every_layer
@pytest.mark.parametrize("name", ("mask", "padding_mask"))
def test_other_argument_names_are_refused(call, name):
    with pytest.raises(TypeError, match=rf"no argument `{name}`: .* as attention_mask\. Received"):
        call(**{name: MASK})


@pytest.mark.parametrize("decoder_class", (DecoderLayer, Decoder))
def test_a_decoder_has_two_masks(decoder_class):
    expected = "as self_attention_mask or cross_attention_mask"
    with pytest.raises(TypeError, match=expected):
        decoder_class(settings=SETTINGS)(X, X, lookahead_mask=MASK)


@pytest.mark.parametrize("name", ("MultiHeadAttention", "EncoderLayer"))
def test_masks_with_an_axis_of_heads_are_refused(name):
    with pytest.raises(ValueError, match=r"without an axis of the heads.*shape \(2, 1, 1, 3\)"):
        CALLS[name](attention_mask=MASK[:, None])
