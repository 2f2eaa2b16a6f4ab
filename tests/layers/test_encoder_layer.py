import numpy as np
import pytest
from block_contract import ENCODER_MASKS, PRE_NORM, OneLayerContract, make_block
from layer_contract import BOTH_NORMS, normal, numpy

from keras_transformer.layers import EncoderLayer


class TestPostNorm(OneLayerContract):
    block, masks = EncoderLayer, ENCODER_MASKS


@pytest.mark.exhaustive  # covered by the contract of the stack
class TestPreNorm(OneLayerContract):
    block, masks, options = EncoderLayer, ENCODER_MASKS, PRE_NORM


def test_summary_shows_the_published_parameter_count():
    layer = EncoderLayer(h=8, d_k=8, d_v=8, d_model=512, d_ff=2048, rate=0.1)
    lines = []
    layer.build_graph(5).summary(print_fn=lambda line, **_: lines.append(line))
    assert layer.count_params() == 2_233_536
    assert "Total params: 2,233,536" in "".join(lines)


@BOTH_NORMS
def test_sublayers_are_applied_in_the_order_of_the_paper(norm_first):
    layer, x = make_block(EncoderLayer, norm_first=norm_first), normal(2, 5, 8)
    expected = numpy(layer(x))
    norm_1, norm_2 = layer.add_norm_1.normalization, layer.add_norm_2.normalization
    if norm_first:
        y = norm_1(x)
        x = x + layer.self_attention(y, y, y)
        x = x + layer.feed_forward(norm_2(x))
    else:
        x = norm_1(x + layer.self_attention(x, x, x))
        x = norm_2(x + layer.feed_forward(x))
    np.testing.assert_allclose(numpy(x), expected, atol=1e-6)
