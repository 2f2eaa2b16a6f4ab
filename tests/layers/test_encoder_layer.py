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

from keras_transformer.layers import EncoderLayer
from keras_transformer.testing import check_no_future_leak


def make(**kwargs):
    return EncoderLayer(**group_settings({**BLOCK_SIZES, **kwargs}))


class Contract(LayerContract):
    zero_gradients = ("key_projection/bias",)  # a constant in each row of scores

    def inputs(self):
        return {"x": normal(2, 5, 8), "attention_mask": padding(5, 3)}


class TestPostNorm(Contract):
    def make(self, **kwargs):
        return EncoderLayer(**BLOCK_SIZES, **kwargs)


@pytest.mark.exhaustive  # covered by the contract of the stack
class TestPreNorm(Contract):
    def make(self, **kwargs):
        return make(activation="gelu", norm_first=True, **kwargs)


def test_summary_shows_the_published_parameter_count():
    layer = EncoderLayer(h=8, d_k=8, d_v=8, d_model=512, d_ff=2048, rate=0.1)
    lines = []
    layer.build_graph(5).summary(print_fn=lambda line, **_: lines.append(line))
    assert layer.count_params() == 2_233_536
    assert "Total params: 2,233,536" in "".join(lines)


@BOTH_NORMS
def test_graph_shares_the_weights_of_the_layer(norm_first):
    layer = make(norm_first=norm_first)
    graph, x = layer.build_graph(5), normal(2, 5, 8)
    np.testing.assert_allclose(numpy(graph(x)), numpy(layer(x)), atol=1e-6)
    layer.feed_forward.outer.bias.assign_add(np.arange(8.0))
    np.testing.assert_allclose(numpy(graph(x)), numpy(layer(x)), atol=1e-6)
    assert len(graph.weights) == len(layer.weights)


@BOTH_NORMS
def test_sublayers_are_applied_in_the_order_of_the_paper(norm_first):
    layer, x = make(norm_first=norm_first), normal(2, 5, 8)
    expected = numpy(layer(x))
    norm_1, norm_2 = layer.add_norm_1.normalization, layer.add_norm_2.normalization
    x = ops.convert_to_tensor(x)
    if norm_first:
        y = norm_1(x)
        x = x + layer.self_attention(y, y, y)
        x = x + layer.feed_forward(norm_2(x))
    else:
        x = norm_1(x + layer.self_attention(x, x, x))
        x = norm_2(x + layer.feed_forward(x))
    np.testing.assert_allclose(numpy(x), expected, atol=1e-6)


@BOTH_NORMS
def test_padding_changes_nothing(norm_first):
    layer, x = make(norm_first=norm_first), normal(2, 5, 8)
    padded = np.concatenate([x, 9 * normal(2, 3, 8, seed=1)], axis=1)
    y, longer = layer(x), layer(padded, attention_mask=padding(5, 5, 8)[:2])
    np.testing.assert_allclose(numpy(longer)[:, :5], numpy(y), atol=1e-5)
    assert np.abs(numpy(layer(padded))[:, :5] - numpy(y)).max() > 0.01  # the mask has an effect


@BOTH_NORMS
def test_causal_mask_prevents_future_leaks(norm_first):
    layer, mask = make(norm_first=norm_first), causal(2, 5)
    check_no_future_leak(lambda x: layer(x, attention_mask=mask), normal(2, 5, 8))


@BOTH_NORMS
def test_dropout_is_active_only_in_training(norm_first):
    check_dropout(make(rate=0.5, norm_first=norm_first), normal(2, 5, 8))


def test_vectors_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"must have the size `d_model`=8\. Received: 6"):
        EncoderLayer(**BLOCK_SIZES)(normal(2, 5, 6))
