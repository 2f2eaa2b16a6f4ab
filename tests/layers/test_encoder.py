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

from keras_transformer.layers import Encoder
from keras_transformer.testing import check_no_future_leak

SIZES = {**BLOCK_SIZES, "n": 2}


def make(**kwargs):
    return Encoder(**group_settings({**SIZES, **kwargs}))


class Contract(LayerContract):
    zero_gradients = ("key_projection/bias",)

    def inputs(self):
        return {"x": normal(2, 5, 8), "attention_mask": padding(5, 3)}


@pytest.mark.exhaustive  # covered by the contract of one layer
class TestPostNorm(Contract):
    def make(self, **kwargs):
        return Encoder(**SIZES, **kwargs)


class TestPreNorm(Contract):
    def make(self, **kwargs):
        return make(activation="gelu", norm_first=True, **kwargs)


@BOTH_NORMS
def test_applies_its_layers_in_sequence(norm_first):
    encoder, x = make(norm_first=norm_first), normal(2, 5, 8)
    mask = padding(5, 3)
    expected = numpy(encoder(x, attention_mask=mask))
    assert len(encoder.layers) == 2
    for layer in encoder.layers:
        x = layer(x, attention_mask=mask)
    np.testing.assert_allclose(numpy(encoder.final_norm(x)), expected, atol=1e-6)


@BOTH_NORMS
def test_output_is_normalized(norm_first):
    y = numpy(make(norm_first=norm_first)(10 * normal(2, 5, 8)))
    np.testing.assert_allclose(y.mean(axis=-1), 0, atol=1e-5)
    np.testing.assert_allclose(y.std(axis=-1), 1, atol=1e-3)


def test_only_pre_norm_adds_a_final_norm():
    post, pre = (make(norm_first=norm_first) for norm_first in (False, True))
    for encoder in (post, pre):
        encoder.build((None, None, 8))
    assert pre.count_params() == post.count_params() + 2 * 8


def test_activation_is_passed_to_its_layers():
    relu, gelu = (make(activation=name) for name in ("relu", "gelu"))
    x = normal(2, 5, 8)
    relu(x), gelu(x)
    gelu.set_weights(relu.get_weights())
    assert np.abs(numpy(gelu(x)) - numpy(relu(x))).max() > 1e-3


@BOTH_NORMS
def test_epsilon_is_passed_to_all_norms(norm_first):
    """With a huge epsilon, every norm outputs zeros."""
    encoder = make(norm_first=norm_first, epsilon=1e12)
    np.testing.assert_allclose(numpy(encoder(normal(2, 5, 8))), 0, atol=1e-4)
    x = normal(2, 5, 8)
    for layer in encoder.layers:
        change = numpy(layer(x)) - (x if norm_first else 0)  # biases are initialized to 0
        np.testing.assert_allclose(change, 0, atol=1e-4)


@STACK_NORMS
def test_padding_changes_nothing(norm_first):
    encoder, x = make(norm_first=norm_first), normal(2, 5, 8)
    padded = np.concatenate([x, 9 * normal(2, 3, 8, seed=1)], axis=1)
    y, longer = encoder(x), encoder(padded, attention_mask=padding(5, 5, 8)[:2])
    np.testing.assert_allclose(numpy(longer)[:, :5], numpy(y), atol=1e-5)


@STACK_NORMS
def test_causal_mask_prevents_future_leaks(norm_first):
    encoder, mask = make(norm_first=norm_first), causal(2, 5)
    check_no_future_leak(lambda x: encoder(x, attention_mask=mask), normal(2, 5, 8))


@STACK_NORMS
def test_dropout_is_active_only_in_training(norm_first):
    check_dropout(make(rate=0.5, norm_first=norm_first), normal(2, 5, 8))


def test_dropout_applies_to_the_input():
    encoder = make(rate=0.5, norm_first=True)
    encoder.build((None, None, 8))
    encoder.set_weights([np.zeros(w.shape) for w in encoder.weights])  # every sub-layer outputs 0
    encoder.final_norm.gamma.assign(np.ones(8))
    ones = np.ones((2, 5, 8), "float32")  # the norm outputs zeros unless some inputs are dropped
    np.testing.assert_allclose(numpy(encoder(ones, training=False)), 0, atol=1e-6)
    assert np.abs(numpy(encoder(ones, training=True))).max() > 0.1
