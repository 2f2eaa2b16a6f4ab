import keras
import numpy as np
import pytest
from layer_contract import (
    LayerContract,
    causal,
    check_sizes_are_refused,
    normal,
    numpy,
    padding,
    random_weights,
)

from keras_transformer.layers import MultiHeadAttention, record_attention
from keras_transformer.layers._heads import merge_heads, split_heads
from keras_transformer.masks import causal_mask, combine_masks, window_mask

SIZES = {"h": 2, "d_k": 3, "d_v": 5, "d_model": 8}


@pytest.mark.every_backend
class TestContract(LayerContract):
    zero_gradients = ("key_projection/bias",)  # a constant in each row of scores

    def inputs(self):
        return {
            "queries": normal(2, 5, 6),
            "keys": normal(2, 7, 4, seed=1),
            "values": normal(2, 7, 9, seed=2),
            "attention_mask": padding(7, 3),
        }

    def make(self, **kwargs):
        return MultiHeadAttention(**SIZES, **kwargs)


class TestRotary(TestContract):
    zero_gradients = ()  # the bias is rotated like the keys

    def make(self, **kwargs):
        return MultiHeadAttention(**{**SIZES, "d_k": 4}, rotary_base=100.0, **kwargs)


class TestOfToday(TestContract):
    zero_gradients = ()

    def make(self, **kwargs):
        options = {"h_kv": 2, "qk_norm": True, "window": 4, "relative_positions": "t5"}
        sizes = {**SIZES, "h": 4, "d_k": 4}
        return MultiHeadAttention(**sizes, **options, use_bias=False, rotary_base=100.0, **kwargs)


@pytest.mark.parametrize("h_kv", (1, 2))
@pytest.mark.parametrize("mask", (None, padding(7, 3)), ids=("no_mask", "padding"))
def test_grouped_queries_match_keras(h_kv, mask):
    ours = MultiHeadAttention(4, 3, 3, 8, h_kv=h_kv)
    theirs = keras.layers.GroupQueryAttention(3, 4, h_kv)
    q, k, v = normal(2, 5, 8), normal(2, 7, 8, seed=1), normal(2, 7, 8, seed=2)
    ours.build(q.shape, k.shape, v.shape)
    theirs.build(q.shape, v.shape, k.shape)
    weights = random_weights(theirs)
    theirs.set_weights(weights)
    ours.set_weights(
        [w.reshape(mine.shape) for w, mine in zip(weights, ours.get_weights(), strict=True)]
    )
    with record_attention() as recorded:
        y = ours(q, k, v, attention_mask=mask)
    full = None if mask is None else np.broadcast_to(mask, (2, 5, 7))
    expected = theirs(q, v, k, attention_mask=full)
    np.testing.assert_allclose(numpy(y), numpy(expected), atol=1e-5)
    np.testing.assert_allclose(numpy(ours(q, k, v, attention_mask=mask)), numpy(y), atol=1e-5)
    assert recorded[ours.attention].shape == (2, 4, 5, 7)
    assert [x.shape for x in ours.start(2, 9)] == [(2, h_kv, 9, 3)] * 2


@pytest.mark.parametrize("options", ({"relative_positions": "alibi"}, {"window": 3}), ids=str)
def test_attention_depends_on_the_distance(options):
    """A later start of both sequences changes nothing, but a shift of the keys does."""
    layer = MultiHeadAttention(**SIZES, **options)
    x = normal(1, 9, 8)
    layer.build(x.shape, x.shape, x.shape)
    keys, values = layer.project(x, x)
    y = numpy(layer.attend(x, keys, values))
    later = numpy(layer.attend(x[:, 4:], keys, values, start=4))
    np.testing.assert_allclose(later, y[:, 4:], atol=1e-5)
    assert np.abs(numpy(layer.attend(x[:, 4:], keys, values)) - later).max() > 0.01


def test_a_window_hides_distant_keys():
    layer, x = MultiHeadAttention(**SIZES, window=3), normal(1, 7, 8)
    with record_attention() as recorded:
        layer(x, x, x, attention_mask=causal(1, 7))
    expected = numpy(combine_masks(causal_mask(7), window_mask(7, 3)))
    assert expected.sum(axis=1).tolist() == [1, 2, 3, 3, 3, 3, 3]
    assert ((numpy(recorded[layer.attention])[0] > 0) == expected.astype(bool)).all()


def test_several_positions_in_one_step_equal_single_ones():
    layer = MultiHeadAttention(**SIZES, h_kv=1, window=3, relative_positions="t5_causal")
    x = normal(2, 5, 8)
    layer.build(x.shape, x.shape, x.shape)
    expected = numpy(layer(x, x, x, attention_mask=causal(2, 5)))
    mask = np.pad(causal(2, 5), ((0, 0), (0, 0), (0, 2)))
    first, cache = layer.step(x[:, :3], 0, layer.start(2, 7), mask[:, :3])
    rest, _ = layer.step(x[:, 3:], 3, cache, mask[:, 3:])
    np.testing.assert_allclose(
        np.concatenate([numpy(first), numpy(rest)], axis=1), expected, atol=1e-5
    )


def test_bad_heads_are_refused():
    with pytest.raises(ValueError, match=r"must divide `h`\. Received: h=2, h_kv=3"):
        MultiHeadAttention(**SIZES, h_kv=3)


def test_bad_sizes_are_refused():
    def make(**kwargs):
        return MultiHeadAttention(**{**SIZES, **kwargs})

    check_sizes_are_refused(make, *SIZES)


@pytest.mark.parametrize(("size", "parameters"), ((64, 1_050_624), (8, 131_776)))
def test_published_parameter_counts_and_shape(size, parameters):
    layer = MultiHeadAttention(h=8, d_k=size, d_v=size, d_model=512)
    x = normal(64, 5, 512)
    assert layer(x, x, x).shape == (64, 5, 512)
    assert layer.count_params() == parameters


def test_split_and_merge_are_inverses():
    x, y = normal(2, 5, 12), normal(2, 3, 5, 4)
    np.testing.assert_array_equal(numpy(merge_heads(split_heads(x, 3))), x)
    np.testing.assert_array_equal(numpy(split_heads(merge_heads(y), 3)), y)


def test_heads_are_contiguous_columns():
    x = normal(2, 5, 12)
    heads = numpy(split_heads(x, 3))
    for i in range(3):
        np.testing.assert_array_equal(heads[:, i], x[:, :, 4 * i : 4 * i + 4])


@pytest.mark.parametrize(
    "mask", (None, padding(7, 3), causal(2, 7)[:, :5]), ids=("no_mask", "padding", "causal")
)
def test_matches_keras(mask):
    ours = MultiHeadAttention(**SIZES)
    theirs = keras.layers.MultiHeadAttention(2, key_dim=3, value_dim=5, output_shape=8)
    q, k, v = normal(2, 5, 8), normal(2, 7, 8, seed=1), normal(2, 7, 8, seed=2)
    ours.build(q.shape, k.shape, v.shape)
    theirs.build(q.shape, v.shape, k.shape)
    theirs.set_weights(random_weights(theirs))
    for i, (name, size) in enumerate({"query": 6, "key": 6, "value": 10, "output": 8}.items()):
        kernel, bias = theirs.get_weights()[2 * i : 2 * i + 2]
        weights = [kernel.reshape(-1, size), bias.reshape(size)]
        getattr(ours, f"{name}_projection").set_weights(weights)
    with record_attention() as recorded:
        y = ours(q, k, v, attention_mask=mask)
    expected, scores = theirs(q, v, k, attention_mask=mask, return_attention_scores=True)
    np.testing.assert_allclose(numpy(y), numpy(expected), atol=1e-5)
    np.testing.assert_allclose(numpy(recorded[ours.attention]), numpy(scores), atol=1e-5)


@pytest.mark.parametrize("shape", ((1, 7), (5, 7), (2, 1, 7), (1, 5, 7), (2, 5, 7)), ids=str)
def test_masks_broadcast_to_every_head(shape):
    layer = MultiHeadAttention(**SIZES)
    mask = np.random.default_rng(4).random(shape) < 0.6
    mask[..., 0] = True
    full = np.broadcast_to(mask, (2, 5, 7))
    with record_attention() as weights:
        layer(normal(2, 5, 8), normal(2, 7, 8), normal(2, 7, 8), attention_mask=mask)
    scores = numpy(weights[layer.attention])
    assert scores.shape == (2, 2, 5, 7)
    np.testing.assert_array_equal(scores > 0, np.repeat(full[:, None], 2, axis=1))


def test_values_default_to_the_keys():
    layer, x, y = MultiHeadAttention(**SIZES), normal(2, 3, 8), normal(2, 4, 8)
    np.testing.assert_array_equal(numpy(layer(x, y)), numpy(layer(x, y, y)))


@pytest.mark.parametrize("shape", ((3, 8), (1, 2, 3, 8)))
def test_inputs_of_another_rank_are_refused(shape):
    layer, x = MultiHeadAttention(**SIZES), normal(*shape)
    with pytest.raises(ValueError, match=r"`queries` must have the shape \(B, T, D\)"):
        layer(x, x, x)


def test_a_mask_of_two_axes_may_be_meant_for_padding():
    layer, x = MultiHeadAttention(**SIZES), normal(3, 3, 8)
    with pytest.warns(UserWarning, match=r"`mask\[:, None\]`"):
        layer(x, x, x, attention_mask=np.ones((3, 3), bool))
    with pytest.raises(ValueError, match=r"`mask\[:, None\]`"):
        layer(x[:2], x[:2], x[:2], attention_mask=np.ones((2, 3), bool))
