import numpy as np
import pytest
from layer_contract import (
    BLOCK_SIZES,
    BOTH_NORMS,
    STACK_NORMS,
    LayerContract,
    causal,
    check_dropout,
    group_settings,
    normal,
    numpy,
    padding,
)

from keras_transformer.layers import Decoder
from keras_transformer.testing import check_no_future_leak

SIZES = {**BLOCK_SIZES, "n": 2}


def make(**kwargs):
    return Decoder(**group_settings({**SIZES, **kwargs}))


class Contract(LayerContract):
    zero_gradients = ("key_projection/bias",)

    def inputs(self):
        return {
            "x": normal(2, 5, 8),
            "encoder_output": normal(2, 7, 8, seed=1),
            "self_attention_mask": causal(2, 5),
            "cross_attention_mask": padding(7, 3),
        }


@pytest.mark.exhaustive  # covered by the contract of one layer
class TestPostNorm(Contract):
    def make(self, **kwargs):
        return Decoder(**SIZES, **kwargs)


@pytest.mark.every_backend
class TestPreNorm(Contract):
    def make(self, **kwargs):
        return make(activation="gelu", norm_first=True, **kwargs)


@BOTH_NORMS
def test_applies_its_layers_in_sequence_with_both_masks(norm_first):
    decoder, x, z = make(norm_first=norm_first), normal(2, 5, 8), normal(2, 7, 8)
    masks = {"self_attention_mask": causal(2, 5), "cross_attention_mask": padding(7, 3)}
    expected = numpy(decoder(x, z, **masks))
    assert len(decoder.layers) == 2
    for layer in decoder.layers:
        x = layer(x, z, **masks)
    np.testing.assert_allclose(numpy(decoder.final_norm(x)), expected, atol=1e-6)


@BOTH_NORMS
def test_output_is_normalized(norm_first):
    y = numpy(make(norm_first=norm_first)(10 * normal(2, 5, 8), normal(2, 7, 8)))
    np.testing.assert_allclose(y.mean(axis=-1), 0, atol=1e-5)
    np.testing.assert_allclose(y.std(axis=-1), 1, atol=1e-3)


def test_only_pre_norm_adds_a_final_norm():
    post, pre = (make(norm_first=norm_first) for norm_first in (False, True))
    for decoder in (post, pre):
        decoder.build((None, None, 8), (None, None, 8))
    assert pre.count_params() == post.count_params() + 2 * 8


def test_activation_is_passed_to_its_layers():
    relu, gelu = (make(activation=name) for name in ("relu", "gelu"))
    x, z = normal(2, 5, 8), normal(2, 7, 8)
    relu(x, z), gelu(x, z)
    gelu.set_weights(relu.get_weights())
    assert np.abs(numpy(gelu(x, z)) - numpy(relu(x, z))).max() > 1e-3


@STACK_NORMS
def test_source_padding_changes_nothing(norm_first):
    decoder, x, z = make(norm_first=norm_first), normal(2, 5, 8), normal(2, 4, 8)
    padded = np.concatenate([z, 9 * normal(2, 3, 8, seed=1)], axis=1)
    y, longer = decoder(x, z), decoder(x, padded, cross_attention_mask=padding(4, 4, 7)[:2])
    np.testing.assert_allclose(numpy(longer), numpy(y), atol=1e-5)


@STACK_NORMS
def test_causal_mask_prevents_future_leaks(norm_first):
    decoder, mask = make(norm_first=norm_first), causal(2, 5)
    z = normal(2, 7, 8, seed=1)
    check_no_future_leak(lambda x: decoder(x, z, self_attention_mask=mask), normal(2, 5, 8))


@STACK_NORMS
def test_dropout_is_active_only_in_training(norm_first):
    decoder = make(rate=0.5, norm_first=norm_first)
    check_dropout(decoder, normal(2, 5, 8), normal(2, 7, 8))


def test_dropout_applies_to_the_input():
    decoder = make(rate=0.5, norm_first=True)
    decoder.build((None, None, 8), (None, None, 8))
    decoder.set_weights([np.zeros(w.shape) for w in decoder.weights])  # every sub-layer outputs 0
    decoder.final_norm.gamma.assign(np.ones(8))
    ones = np.ones((2, 5, 8), "float32")  # the norm outputs zeros unless some inputs are dropped
    np.testing.assert_allclose(numpy(decoder(ones, ones, training=False)), 0, atol=1e-6)
    assert np.abs(numpy(decoder(ones, ones, training=True))).max() > 0.1
