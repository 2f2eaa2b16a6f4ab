import numpy as np
import pytest
from block_contract import DECODER_MASKS, PRE_NORM, OneLayerContract, make_block
from layer_contract import BOTH_NORMS, normal, numpy

from keras_transformer.layers import DecoderLayer


class TestPostNorm(OneLayerContract):
    block, masks = DecoderLayer, DECODER_MASKS


@pytest.mark.exhaustive  # covered by the contract of the stack
class TestPreNorm(OneLayerContract):
    block, masks, options = DecoderLayer, DECODER_MASKS, PRE_NORM


def test_summary_shows_the_parameter_count_with_three_norms():
    """The published 2,365,312, plus 1,024 for a third norm: the course uses one norm twice."""
    layer = DecoderLayer(h=8, d_k=8, d_v=8, d_model=512, d_ff=2048, rate=0.1)
    lines = []
    layer.build_graph(5).summary(print_fn=lambda line, **_: lines.append(line))
    assert layer.count_params() == 2_366_336
    assert "Total params: 2,366,336" in "".join(lines)


@BOTH_NORMS
def test_sublayers_are_applied_in_the_order_of_the_paper(norm_first):
    layer = make_block(DecoderLayer, norm_first=norm_first)
    x, z = normal(2, 5, 8), normal(2, 7, 8)
    expected = numpy(layer(x, z))
    adders = (layer.add_norm_1, layer.add_norm_2, layer.add_norm_3)
    norm_1, norm_2, norm_3 = (adder.normalization for adder in adders)
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
