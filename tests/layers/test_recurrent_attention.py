"""Properties shared by the attention layers of the recurrent decoders."""

import numpy as np
import pytest
from layer_contract import normal, numpy, padding, random_weights

from keras_transformer.layers import AdditiveAttention, LuongAttention, record_attention

MAKERS = {
    "additive": lambda: AdditiveAttention(6),
    "dot": lambda: LuongAttention("dot"),
    "general": lambda: LuongAttention("general"),
    "concat": lambda: LuongAttention("concat"),
    "monotonic": lambda: LuongAttention("dot", 2),
    "predictive": lambda: LuongAttention("general", 2, "predictive"),
}
ALL = pytest.mark.parametrize("name", MAKERS)
QUERIES, VALUES, MASK = normal(2, 5, 4), normal(2, 7, 4, seed=1), padding(7, 4)


def make(name):
    layer = MAKERS[name]()
    layer.build(QUERIES.shape, VALUES.shape)
    layer.set_weights(random_weights(layer))
    return layer


@ALL
def test_recorded_weights_exclude_padding(name):
    layer = make(name)
    with record_attention() as recorded:
        y = numpy(layer(QUERIES, VALUES, attention_mask=MASK))
    assert list(recorded) == [layer]
    weights = numpy(recorded[layer])
    assert weights.shape == (2, 5, 7)
    assert (weights[1, :, 4:] == 0).all()
    np.testing.assert_allclose(weights @ VALUES, y, atol=1e-5)
    sums = weights.sum(axis=-1)
    if name == "predictive":  # the Gaussian reduces the weights
        assert (sums < 1).all()
    else:
        np.testing.assert_allclose(sums, 1, atol=1e-5)


@ALL
def test_steps_match_call(name):
    layer = make(name)
    full_output = numpy(layer(QUERIES, VALUES, attention_mask=MASK))
    keys = layer.project(VALUES)
    for t in range(5):
        step = layer.attend(QUERIES[:, t : t + 1], keys, VALUES, MASK, start=t)
        np.testing.assert_allclose(numpy(step)[:, 0], full_output[:, t], atol=1e-5)


@ALL
def test_padding_changes_nothing(name):
    layer = make(name)
    padded = np.concatenate([VALUES, 9 * normal(2, 3, 4, seed=2)], axis=1)
    y = numpy(layer(QUERIES, VALUES))
    longer = numpy(layer(QUERIES, padded, attention_mask=padding(7, 7, 10)[:2]))
    np.testing.assert_allclose(longer, y, atol=1e-5)


@ALL
def test_fully_masked_queries_get_zeros(name):
    layer, mask = make(name), np.ones((2, 5, 7), bool)
    mask[0, 1], mask[1] = False, False
    y = numpy(layer(QUERIES, VALUES, attention_mask=mask))
    assert (y[0, 1] == 0).all()
    assert (y[1] == 0).all()
    unmasked = numpy(layer(QUERIES, VALUES))
    np.testing.assert_allclose(y[0, [0, 2, 3, 4]], unmasked[0, [0, 2, 3, 4]], atol=1e-6)


@pytest.mark.parametrize("name", ("additive", "dot", "general", "concat"))
def test_global_attention_is_invariant_to_source_order(name):
    layer, order = make(name), np.random.default_rng(3).permutation(7)
    y = numpy(layer(QUERIES, VALUES))
    np.testing.assert_allclose(numpy(layer(QUERIES, VALUES[:, order])), y, atol=1e-5)
    np.testing.assert_allclose(numpy(layer(QUERIES[:, ::-1], VALUES)), y[:, ::-1], atol=1e-5)


@ALL
def test_half_precision_is_close_to_float32(name):
    layer = make(name)
    half = type(layer).from_config({**layer.get_config(), "dtype": "mixed_bfloat16"})
    half.build(QUERIES.shape, VALUES.shape)
    half.set_weights([0.2 * w for w in layer.get_weights()])
    layer.set_weights([0.2 * w for w in layer.get_weights()])
    found, expected = numpy(half(QUERIES, VALUES)), numpy(layer(QUERIES, VALUES))
    assert np.abs(found - expected).mean() < 0.03
