import keras
import numpy as np
from keras import ops
from layer_contract import normal, numpy

from keras_transformer.layers import DotProductAttention, MultiHeadAttention
from keras_transformer.step_by_step import (
    general_attention,
    general_attention_of_one,
    multi_head_self_attention,
    plain_self_attention,
    self_attention,
    simple_rnn,
)

SENTENCE = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
WORDS = normal(len(SENTENCE), 16)  # random, as from an untrained embedding


def check_rows_sum_to_one(weights):
    assert (numpy(weights) > 0).all()
    np.testing.assert_allclose(numpy(weights).sum(axis=-1), 1, atol=1e-5)


class TestGeneralAttention:
    def test_loops_equal_matrices(self):
        queries, keys, values = normal(5, 4), normal(7, 4, seed=1), normal(7, 6, seed=2)
        outputs, weights = general_attention(queries, keys, values)
        for t, query in enumerate(queries):
            output, row = general_attention_of_one(query, keys, values)
            np.testing.assert_allclose(numpy(output), numpy(outputs)[t], atol=1e-5)
            np.testing.assert_allclose(numpy(row), numpy(weights)[t], atol=1e-6)

    def test_equals_the_layer(self):
        queries, keys, values = normal(5, 4), normal(7, 4, seed=1), normal(7, 6, seed=2)
        expected = numpy(DotProductAttention()(queries[None], keys[None], values[None]))[0]
        np.testing.assert_allclose(
            numpy(general_attention(queries, keys, values)[0]), expected, atol=1e-6
        )


class TestSelfAttention:
    def test_without_projections_words_attend_to_similar_words(self):
        x = WORDS / np.linalg.norm(WORDS, axis=1, keepdims=True)
        output, weights = plain_self_attention(x)
        assert output.shape == x.shape
        check_rows_sum_to_one(weights)
        assert (numpy(weights).argmax(axis=1) == np.arange(8)).all()
        np.testing.assert_allclose(numpy(weights) @ x, numpy(output), atol=1e-6)
        odds = np.exp([[sum(a * b) for b in x] for a in x])  # word by word
        np.testing.assert_allclose(numpy(weights), odds / odds.sum(1, keepdims=True), rtol=1e-4)

    def test_identity_projections_differ_from_none_only_by_the_scaling(self):
        x, one = WORDS, np.eye(16, dtype="float32")
        weights = numpy(self_attention(2 * x, one, one, one)[1])  # 2 · 2 / √16 = 1
        np.testing.assert_allclose(weights, numpy(plain_self_attention(x)[1]), atol=1e-5)

    def test_is_permutation_equivariant(self):
        projections, order = [normal(16, 5, seed=i) for i in (1, 2, 3)], [3, 1, 0, 2, 7, 6, 5, 4]
        output = numpy(self_attention(WORDS, *projections)[0])
        permuted = numpy(self_attention(WORDS[order], *projections)[0])
        np.testing.assert_allclose(permuted, output[order], atol=1e-5)

    def test_eight_heads_equal_the_layer_with_the_same_weights(self):
        layer = MultiHeadAttention(h=8, d_k=2, d_v=2, d_model=16)
        x = WORDS[None]
        expected = numpy(layer(x, x, x))[0]
        parts = ("query_projection", "key_projection", "value_projection", "output_projection")
        *projections, w_o = (getattr(layer, part).get_weights()[0] for part in parts)
        heads = list(zip(*(np.split(w, 8, axis=1) for w in projections), strict=True))
        output, weights = multi_head_self_attention(WORDS, heads, w_o)
        assert weights.shape == (8, 8, 8)
        check_rows_sum_to_one(weights)
        np.testing.assert_allclose(numpy(output), expected, atol=1e-5)


class TestSimpleRNN:
    def test_values_computed_by_hand(self):
        """x = 1, 2, 3, W_x = [1 2], W_h = [[1 0] [1 2]], b = [0 1]; o = [1 -1]·h + ½.

        h₁ = [1 3], h₂ = [2 4] + [1+3 6] + [0 1] = [6 11], h₃ = [3 6] + [6+11 22] + [0 1] = [20 29].
        """
        x, kernel = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0, 2.0]])
        recurrent_kernel, bias = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([0.0, 1.0])
        states = simple_rnn(x, kernel, recurrent_kernel, bias)
        np.testing.assert_allclose(numpy(states), [[1, 3], [6, 11], [20, 29]])

    def test_equals_the_layer(self):
        layer = keras.layers.SimpleRNN(4, return_sequences=True)
        x = normal(6, 3)
        expected = numpy(layer(x[None]))[0]
        states = simple_rnn(x, *layer.get_weights(), activation=ops.tanh)
        np.testing.assert_allclose(numpy(states), expected, atol=1e-5)
