import numpy as np
import pytest
from layer_contract import (
    BAD_SIZES,
    LayerContract,
    check_refused,
    normal,
    numpy,
    padding,
    random_weights,
)

from keras_transformer.layers import AdditiveAttention, LuongAttention, record_attention


class Contract(LayerContract):
    arguments = ()

    def inputs(self):
        return {
            "queries": normal(2, 5, 4),
            "values": normal(2, 7, 4, seed=1),
            "attention_mask": padding(7, 4),
        }

    def make(self, **kwargs):
        return LuongAttention(*self.arguments, **kwargs)


class TestDot(Contract):
    arguments = ("dot",)


class TestMonotonic(Contract):
    arguments = ("general", 2, "monotonic", True)


class TestPredictive(Contract):
    arguments = ("concat", 3, "predictive")


def weights_of(layer, queries, values, **kwargs):
    with record_attention() as weights:
        layer(queries, values, **kwargs)
    return numpy(weights[layer])


def equal_scores(length, window, alignment="monotonic", queries=1):
    """Returns a layer, queries and values with equal scores, so that only the window matters."""
    return (
        LuongAttention("dot", window, alignment),
        np.zeros((1, queries, 2)),
        np.zeros((1, length, 2)),
    )


class TestScores:
    def test_dot_is_the_dot_product(self):
        """s = ln 3 and h = 1, 0, 2 give odds 3, 1 and 9."""
        queries, values = np.full((1, 1, 1), np.log(3)), np.array([[[1.0], [0.0], [2.0]]])
        weights = weights_of(LuongAttention("dot"), queries, values)
        np.testing.assert_allclose(weights * 13, [[[3, 1, 9]]], rtol=1e-5)

    def test_general_is_a_bilinear_form(self):
        queries, values = normal(2, 5, 3), normal(2, 7, 4, seed=1)
        layer = LuongAttention("general")
        layer(queries, values)
        (w,) = layer.key_projection.get_weights()
        assert w.shape == (4, 3)
        scores = np.einsum("btd,ed,bse->bts", queries, w, values)
        found = numpy(layer.scores(queries, layer.project(values)))
        np.testing.assert_allclose(found, scores, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("score", ("dot", "general"))
    def test_scale_divides_by_the_square_root_of_the_size(self, score):
        queries, values = normal(2, 5, 4), normal(2, 7, 4, seed=1)
        plain, scaled = LuongAttention(score), LuongAttention(score, scale=True)
        plain(queries, values)
        scaled(queries, values)
        scaled.set_weights(plain.get_weights())
        scores = [numpy(x.scores(queries, x.project(values))) for x in (plain, scaled)]
        np.testing.assert_allclose(scores[1], scores[0] / 2, rtol=1e-5)

    def test_concat_equals_additive_attention(self):
        queries, values = normal(2, 5, 3), normal(2, 7, 4, seed=1)
        luong, additive = LuongAttention("concat"), AdditiveAttention(3)
        luong(queries, values), additive(queries, values)
        luong.set_weights(random_weights(additive))
        additive.set_weights(random_weights(additive))
        np.testing.assert_allclose(
            numpy(luong(queries, values)), numpy(additive(queries, values)), atol=1e-6
        )

    def test_number_of_weights_depends_on_the_score(self):
        for score, weights in (("dot", 0), ("general", 1), ("concat", 3)):
            layer = LuongAttention(score)
            layer.build((None, None, 4), (None, None, 4))
            assert len(layer.weights) == weights


class TestWindow:
    def test_monotonic_attends_to_d_positions_on_each_side(self):
        weights = weights_of(*equal_scores(length=7, window=2, queries=9))
        near = np.abs(np.arange(9)[:, None] - np.arange(7)) <= 2
        np.testing.assert_array_equal(weights[0] > 0, near)
        assert near[3].sum() == 5
        np.testing.assert_allclose(weights[0].sum(axis=-1), 1, atol=1e-6)

    def test_a_query_far_beyond_the_end_attends_to_nothing(self):
        layer, queries, values = equal_scores(length=3, window=1, queries=6)
        weights = weights_of(layer, queries, values)
        np.testing.assert_array_equal(weights[0].sum(axis=-1) > 0, [True] * 4 + [False] * 2)
        assert (numpy(layer(queries, values + 1))[0, 4:] == 0).all()

    def test_padding_within_the_window_is_masked(self):
        layer, queries, values = equal_scores(length=7, window=2, queries=3)
        weights = weights_of(layer, queries, values, attention_mask=padding(7, 3)[1:])
        np.testing.assert_allclose(weights[0, 2, :4], [1 / 3, 1 / 3, 1 / 3, 0], atol=1e-6)

    def test_predictive_weights_are_multiplied_by_a_gaussian(self):
        """Queries of zeros predict the middle, sigmoid(0) = ½: p = 6 / 2, σ = 4 / 2."""
        weights = weights_of(*equal_scores(length=6, window=4, alignment="predictive"))
        distances = np.arange(6) - 3.0
        np.testing.assert_allclose(weights[0, 0], np.exp(-(distances**2) / 8) / 6, rtol=1e-5)

    def test_positions_outside_the_predicted_window_are_masked(self):
        weights = weights_of(*equal_scores(length=9, window=1, alignment="predictive"))
        assert np.flatnonzero(weights).tolist() == [4, 5]  # p = 4.5
        np.testing.assert_allclose(weights[0, 0, 4], np.exp(-0.5) / 2, rtol=1e-5)

    def test_predicted_position_uses_the_length_without_padding(self):
        layer, queries, values = equal_scores(length=9, window=1, alignment="predictive")
        mask = (np.arange(9) < 6)[None, None]
        mask[0, 0, 1] = False  # masked in the middle, which does not shorten the source
        weights = weights_of(layer, queries, values, attention_mask=mask)
        assert np.flatnonzero(weights).tolist() == [2, 3, 4]  # p = 3

    def test_predicted_position_equals_the_formula_of_the_paper(self):
        queries, values = normal(2, 5, 4), normal(2, 7, 4, seed=1)
        layer = LuongAttention("dot", 100, "predictive")
        layer(queries, values)
        layer.set_weights(random_weights(layer))
        w, v = layer.position_hidden.get_weights()[0], layer.position.get_weights()[0]
        centers = 7 / (1 + np.exp(-np.tanh(queries @ w) @ v))
        odds = np.exp(queries @ values.swapaxes(1, 2))
        expected = odds / odds.sum(axis=-1, keepdims=True)
        expected *= np.exp(-((np.arange(7) - centers) ** 2) / (2 * 50**2))
        np.testing.assert_allclose(weights_of(layer, queries, values), expected, rtol=1e-3)

    def test_window_wider_than_the_source_has_no_effect(self):
        queries, values, mask = normal(2, 5, 4), normal(2, 7, 4, seed=1), padding(7, 3)
        local, unlimited = LuongAttention("dot", 12), LuongAttention("dot")
        found, expected = (
            numpy(layer(queries, values, attention_mask=mask)) for layer in (local, unlimited)
        )
        np.testing.assert_allclose(found, expected, atol=1e-6)


class TestArguments:
    def test_unknown_choices_are_refused(self):
        check_refused(LuongAttention, score="cosine")
        check_refused(lambda **x: LuongAttention(window=2, **x), alignment="local")

    def test_bad_windows_are_refused(self):
        for size in BAD_SIZES:
            if size is not None:
                check_refused(LuongAttention, window=size)

    def test_predictive_requires_a_window(self):
        with pytest.raises(ValueError, match=r"requires a `window`.*Received: window=None$"):
            LuongAttention(alignment="predictive")

    def test_dot_requires_equal_sizes(self):
        with pytest.raises(ValueError, match=r'use `score="general"`\. Received: 3 and 4$'):
            LuongAttention("dot").build((None, None, 3), (None, None, 4))
