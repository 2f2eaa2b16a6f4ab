import keras
import numpy as np
from layer_contract import (
    LayerContract,
    check_sizes_are_refused,
    normal,
    numpy,
    padding,
    random_weights,
)

from keras_transformer.layers import AdditiveAttention, record_attention


class TestContract(LayerContract):
    def inputs(self):
        return {
            "queries": normal(2, 5, 3),
            "values": normal(2, 7, 4, seed=1),
            "attention_mask": padding(7, 3),
        }

    def make(self, **kwargs):
        return AdditiveAttention(6, **kwargs)


def make(queries, values, **weights):
    """Creates a layer with the given weights, each by the name of its sub-layer."""
    units = next(iter(weights.values())).shape[-1]
    layer = AdditiveAttention(units)
    layer.build(queries.shape, values.shape)
    for name, weight in weights.items():
        getattr(layer, name).set_weights([weight])
    return layer


def test_bad_sizes_are_refused():
    check_sizes_are_refused(AdditiveAttention, "units")


def test_matches_a_hand_computed_example():
    """The sums h + s are 60, 0 and -49, so tanh is 1, 0 and -1, and v = ln 2 gives odds 2, 1, ½."""
    queries, values = np.full((1, 1, 1), 50.0), np.array([[[10.0], [-50.0], [-99.0]]])
    one = np.ones((1, 1))
    layer = make(queries, values, value_projection=one, query_projection=one)
    layer.score.set_weights([np.log(2) * one])
    with record_attention() as weights:
        y = numpy(layer(queries, values))
    np.testing.assert_allclose(numpy(weights[layer]) * 3.5, [[[2, 1, 0.5]]], atol=1e-5)
    np.testing.assert_allclose(y, [[[(2 * 10 - 50 - 0.5 * 99) / 3.5]]], rtol=1e-5)


def test_score_equals_the_formula_with_concatenated_vectors():
    queries, values = normal(2, 5, 3), normal(2, 7, 4, seed=1)
    layer = AdditiveAttention(6)
    layer(queries, values)
    layer.set_weights(random_weights(layer))
    w_1, w_2 = layer.value_projection.get_weights()[0], layer.query_projection.get_weights()[0]
    (v,) = layer.score.get_weights()
    scores = numpy(layer.scores(queries, layer.project(values)))
    for b, t, s in np.ndindex(2, 5, 7):
        both = np.concatenate([values[b, s], queries[b, t]])
        score = np.tanh(both @ np.concatenate([w_1, w_2])) @ v
        np.testing.assert_allclose(scores[b, t, s], score[0], rtol=1e-4)


def test_matches_keras_with_identity_projections():
    queries, values, mask = normal(2, 5, 4), normal(2, 7, 4, seed=1), padding(7, 3)
    theirs = keras.layers.AdditiveAttention()
    theirs.build([queries.shape, values.shape])
    theirs.set_weights([normal(4, seed=2)])
    ours = make(queries, values, value_projection=np.eye(4), query_projection=np.eye(4))
    ours.score.set_weights([theirs.get_weights()[0][:, None]])
    for own_mask, their_mask in ((None, None), (mask, [None, mask[:, 0]])):
        with record_attention() as recorded:
            y = ours(queries, values, attention_mask=own_mask)
        expected, weights = theirs([queries, values], mask=their_mask, return_attention_scores=True)
        np.testing.assert_allclose(numpy(y), numpy(expected), atol=1e-5)
        np.testing.assert_allclose(numpy(recorded[ours]), numpy(weights), atol=1e-5)
