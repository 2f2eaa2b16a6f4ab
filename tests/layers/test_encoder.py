import numpy as np
import pytest
from block_contract import ENCODER_MASKS, PreNormStackContract, StackContract, make_block
from layer_contract import BOTH_NORMS, normal, numpy

from keras_transformer.layers import Encoder


@pytest.mark.exhaustive  # covered by the contract of one layer
class TestPostNorm(StackContract):
    block, masks = Encoder, ENCODER_MASKS


class TestPreNorm(PreNormStackContract):
    block, masks = Encoder, ENCODER_MASKS


@BOTH_NORMS
def test_epsilon_is_passed_to_all_norms(norm_first):
    """With a huge epsilon, every norm outputs zeros."""
    encoder, x = make_block(Encoder, norm_first=norm_first, epsilon=1e12), normal(2, 5, 8)
    np.testing.assert_allclose(numpy(encoder(x)), 0, atol=1e-4)
    for layer in encoder.layers:
        change = numpy(layer(x)) - (x if norm_first else 0)  # biases are initialized to 0
        np.testing.assert_allclose(change, 0, atol=1e-4)
