import pytest
from block_contract import DECODER_MASKS, PreNormStackContract, StackContract

from keras_transformer.layers import Decoder


@pytest.mark.exhaustive  # covered by the contract of one layer
class TestPostNorm(StackContract):
    block, masks = Decoder, DECODER_MASKS


@pytest.mark.every_backend
class TestPreNorm(PreNormStackContract):
    block, masks = Decoder, DECODER_MASKS
