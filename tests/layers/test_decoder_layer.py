import numpy as np
import pytest
from keras import ops
from layer_contract import (
    BLOCK_SIZES,
    BOTH_NORMS,
    LayerContract,
    causal,
    check_dropout,
    group_settings,
    normal,
    numpy,
    padding,
)

from keras_transformer.layers import DecoderLayer
from keras_transformer.testing import check_no_future_leak


def make(**kwargs):
    return DecoderLayer(**group_settings({**BLOCK_SIZES, **kwargs}))


class Contract(LayerContract):
    zero_gradients = ("key_projection/bias",)  # a constant in each row of scores

    def inputs(self):
        return {
            "x": normal(2, 5, 8),
            "encoder_output": normal(2, 7, 8, seed=1),
            "self_attention_mask": causal(2, 5),
            "cross_attention_mask": padding(7, 3),
        }


class TestPostNorm(Contract):
    def make(self, **kwargs):
        return DecoderLayer(**BLOCK_SIZES, **kwargs)


@pytest.mark.exhaustive  # covered by the contract of the stack
class TestPreNorm(Contract):
    def make(self, **kwargs):
        return make(activation="gelu", norm_first=True, **kwargs)


def test_summary_shows_the_parameter_count_with_three_norms():
    """The published 2,365,312, plus 1,024 for a third norm: the course uses one norm twice."""
    layer = DecoderLayer(h=8, d_k=8, d_v=8, d_model=512, d_ff=2048, rate=0.1)
    lines = []
    layer.build_graph(5).summary(print_fn=lambda line, **_: lines.append(line))
    assert layer.count_params() == 2_366_336
    assert "Total params: 2,366,336" in "".join(lines)


@BOTH_NORMS
def test_graph_shares_the_weights_of_the_layer(norm_first):
    layer, x, z = (
        make(norm_first=norm_first),
        normal(2, 5, 8),
        normal(2, 5, 8, seed=1),
    )
    graph = layer.build_graph(5)
    np.testing.assert_allclose(numpy(graph([x, z])), numpy(layer(x, z)), atol=1e-6)
    layer.feed_forward.outer.bias.assign_add(np.arange(8.0))
    np.testing.assert_allclose(numpy(graph([x, z])), numpy(layer(x, z)), atol=1e-6)
    assert len(graph.weights) == len(layer.weights)


@BOTH_NORMS
def test_sublayers_are_applied_in_the_order_of_the_paper(norm_first):
    layer, x, z = (
        make(norm_first=norm_first),
        normal(2, 5, 8),
        normal(2, 7, 8),
    )
    expected = numpy(layer(x, z))
    adders = (layer.add_norm_1, layer.add_norm_2, layer.add_norm_3)
    norm_1, norm_2, norm_3 = (adder.normalization for adder in adders)
    x = ops.convert_to_tensor(x)
    if norm_first:
        y = norm_1(x)
        x = x + layer.self_attention(y, y, y)
        x = x + layer.cross_attention(norm_2(x), z, z)
        x = x + layer.feed_forward(norm_3(x))
    else:
        x = norm_1(x + layer.self_attention(x, x, x))
        x = norm_2(x + layer.cross_attention(x, z, z))
        x = norm_3(x + layer.feed_forward(x))
    np.testing.assert_allclose(numpy(x), expected, atol=1e-6)


@BOTH_NORMS
def test_source_padding_changes_nothing(norm_first):
    layer, x, z = (
        make(norm_first=norm_first),
        normal(2, 5, 8),
        normal(2, 4, 8),
    )
    padded = np.concatenate([z, 9 * normal(2, 3, 8, seed=1)], axis=1)
    y, longer = layer(x, z), layer(x, padded, cross_attention_mask=padding(4, 4, 7)[:2])
    np.testing.assert_allclose(numpy(longer), numpy(y), atol=1e-5)
    assert np.abs(numpy(layer(x, padded)) - numpy(y)).max() > 0.01  # the mask has an effect


@BOTH_NORMS
def test_target_padding_changes_nothing(norm_first):
    layer, x, z = (
        make(norm_first=norm_first),
        normal(2, 5, 8),
        normal(2, 4, 8),
    )
    padded = np.concatenate([x, 9 * normal(2, 3, 8, seed=1)], axis=1)
    y, longer = layer(x, z), layer(padded, z, self_attention_mask=padding(5, 5, 8)[:2])
    np.testing.assert_allclose(numpy(longer)[:, :5], numpy(y), atol=1e-5)


@BOTH_NORMS
def test_causal_mask_prevents_future_leaks(norm_first):
    layer, mask = make(norm_first=norm_first), causal(2, 5)
    z = normal(2, 7, 8, seed=1)
    check_no_future_leak(lambda x: layer(x, z, self_attention_mask=mask), normal(2, 5, 8))


@BOTH_NORMS
def test_every_position_attends_to_the_whole_source(norm_first):
    layer, x, z = (
        make(norm_first=norm_first),
        normal(2, 5, 8),
        normal(2, 7, 8),
    )
    changed = z.copy()
    changed[:, -1] += 1
    y, other = (numpy(layer(x, s, self_attention_mask=causal(2, 5))) for s in (z, changed))
    assert (np.abs(other - y).max(axis=-1) > 1e-4).all()


@BOTH_NORMS
def test_dropout_is_active_only_in_training(norm_first):
    layer = make(rate=0.5, norm_first=norm_first)
    check_dropout(layer, normal(2, 5, 8), normal(2, 7, 8))


def test_vectors_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"must have the size `d_model`=8\. Received: 6"):
        DecoderLayer(**BLOCK_SIZES)(normal(2, 5, 6), normal(2, 7, 8))
