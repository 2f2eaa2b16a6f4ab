import keras
import numpy as np
import pytest
from layer_contract import (
    LayerContract,
    check_sizes_are_refused,
    normal,
    numpy,
    padding,
    random_weights,
)

from keras_transformer.layers import SequenceAttention, record_attention


class TestContract(LayerContract):
    def inputs(self):
        return {"x": normal(2, 7, 3), "attention_mask": padding(7, 4)}

    def make(self, **kwargs):
        return SequenceAttention(7, **kwargs)


def make(x, kernel, bias):
    layer = SequenceAttention(len(bias))
    layer.build(x.shape)
    layer.set_weights([np.reshape(kernel, (-1, 1)), np.reshape(bias, (-1, 1))])
    return layer


def test_it_pools_the_output_of_an_rnn_in_a_model():
    embedding = keras.layers.Embedding(9, 4, mask_zero=True)
    rnn = keras.layers.SimpleRNN(5, return_sequences=True)
    model = keras.Sequential([embedding, rnn, SequenceAttention(6)])
    ids = np.array([[3, 4, 0, 0], [5, 6, 7, 8]])
    found = model.predict(ids, verbose=0)
    np.testing.assert_allclose(found[:1], model.predict(ids[:1, :2], verbose=0), atol=1e-6)


def test_bad_sizes_are_refused():
    check_sizes_are_refused(SequenceAttention, "seq_length")


def test_published_parameter_count():
    layer = SequenceAttention(20)
    layer.build((None, 20, 2))
    assert layer.count_params() == 22


def test_matches_a_hand_computed_example():
    """wᵀx + b is ½, ½ and 0, so the odds are e^tanh(½), e^tanh(½) and 1."""
    x = np.array([[[1.0, 2.0], [0.0, 3.0], [4.0, 5.0]]])
    layer = make(x, kernel=[0.5, 0.0], bias=[0.0, 0.5, -2.0])
    with record_attention() as weights:
        y = numpy(layer(x))
    odds = np.exp([np.tanh(0.5), np.tanh(0.5), 0])
    np.testing.assert_allclose(numpy(weights[layer]), [[odds / odds.sum()]], rtol=1e-5)
    np.testing.assert_allclose(y, [odds @ x[0] / odds.sum()], rtol=1e-5)


def test_equal_scores_give_the_mean():
    x = normal(2, 7, 3)
    layer = make(x, kernel=np.zeros(3), bias=np.ones(7))
    np.testing.assert_allclose(numpy(layer(x)), x.mean(axis=1), atol=1e-5)


def test_shorter_sequences_use_the_first_biases_and_ignore_padding():
    x = normal(2, 7, 3)
    layer = make(x, *random_weights_of(7, 3))
    short = numpy(layer(x[:, :4]))
    np.testing.assert_allclose(
        numpy(layer(x, attention_mask=padding(7, 4, 4)[1:])), short, atol=1e-5
    )
    first = make(x[:, :4], *(w[:n] for w, n in zip(random_weights_of(7, 3), (3, 4), strict=True)))
    np.testing.assert_allclose(numpy(first(x[:, :4])), short, atol=1e-5)


def random_weights_of(steps, features):
    layer = SequenceAttention(steps)
    layer.build((None, steps, features))
    return random_weights(layer)


def test_sequences_longer_than_seq_length_are_refused():
    with pytest.raises(ValueError, match=r"longer than `seq_length`.*Received: a length of 6"):
        SequenceAttention(5)(normal(2, 6, 3))
