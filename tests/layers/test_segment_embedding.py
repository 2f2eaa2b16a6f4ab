import numpy as np
import pytest
from layer_contract import (
    LayerContract,
    check_dropout,
    check_rates_are_refused,
    check_refused,
    check_sizes_are_refused,
    numpy,
    random_weights,
)

from keras_transformer.layers import SegmentEmbedding

SIZES = {"seq_length": 5, "vocab_size": 10, "output_dim": 6}
IDS = np.array([[5, 6, 7, 2, 0], [3, 4, 2, 0, 0]], "int32")
SEGMENTS = np.array([[0, 0, 1, 1, 0], [0, 1, 1, 0, 0]], "int32")


class TestTwoSegments(LayerContract):
    def inputs(self):
        return {"ids": IDS, "segments": SEGMENTS}

    def make(self, **kwargs):
        return SegmentEmbedding(**SIZES, **kwargs)


class TestNoSegments(LayerContract):
    def inputs(self):
        return {"ids": IDS}

    def make(self, **kwargs):
        return SegmentEmbedding(**SIZES, num_segments=None, **kwargs)


def make(**kwargs):
    return SegmentEmbedding(**{**SIZES, **kwargs})


def with_random_weights(**kwargs):
    layer = make(**kwargs)
    layer.build(IDS.shape)
    layer.set_weights(random_weights(layer))
    return layer


def test_bad_arguments_are_refused():
    check_sizes_are_refused(make, *SIZES)
    check_rates_are_refused(make)
    for arguments in ({"num_segments": 0}, {"num_segments": 1.5}, {"epsilon": 0}):
        check_refused(make, **arguments)


def test_output_is_the_normalized_sum_of_three_embeddings():
    layer = with_random_weights(epsilon=0.5)
    words, positions, segments = (
        numpy(part.embeddings) for part in (layer.words, layer.positions, layer.segments)
    )
    x = words[IDS] + positions + segments[SEGMENTS]
    gamma, beta = layer.norm.get_weights()
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.5)
    np.testing.assert_allclose(numpy(layer(IDS, SEGMENTS)), x * gamma + beta, atol=1e-5)


def test_segments_default_to_the_first():
    layer = with_random_weights()
    np.testing.assert_allclose(numpy(layer(IDS)), numpy(layer(IDS, 0 * SEGMENTS)))
    assert np.abs(numpy(layer(IDS)) - numpy(layer(IDS, SEGMENTS))).max() > 0.1


def test_segments_are_refused_without_segment_embeddings():
    with pytest.raises(ValueError, match=r"no segment embeddings.*Received: segments of shape"):
        make(num_segments=None)(IDS, SEGMENTS)


def test_sequences_longer_than_seq_length_are_refused():
    with pytest.raises(ValueError, match=r"seq_length[\s\S]*Received: a length of 6"):
        make()(np.zeros((2, 6), "int32"))


def test_dropout_is_active_only_in_training():
    check_dropout(make(rate=0.5), IDS, SEGMENTS)
