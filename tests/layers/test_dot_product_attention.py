import numpy as np
import pytest
from keras import ops
from layer_contract import LayerContract, causal, normal, numpy, padding

from keras_transformer.layers import (
    DotProductAttention,
    _fused_attention,
    dot_product_attention,
    record_attention,
)


@pytest.mark.every_backend
class TestContract(LayerContract):
    def inputs(self):
        return {
            "queries": normal(2, 5, 3),
            "keys": normal(2, 7, 3, seed=1),
            "values": normal(2, 7, 4, seed=2),
            "attention_mask": padding(7, 3),
        }

    def make(self, **kwargs):
        return DotProductAttention(**kwargs)


# Masks that are broadcastable to (2, 3, 4, 6), the last with queries that may attend to nothing.
FUSED_MASKS = {
    "none": None,
    "keys": np.arange(6) < 4,
    "(T, S)": np.tril(np.ones((4, 6), "bool")),
    "(B, 1, 1, S)": padding(6, 3)[:, None],
    "(B, N, T, S)": normal(2, 3, 4, 6) > -0.5,
    "nothing": np.arange(4)[:, None] + np.zeros((2, 1, 1, 6)) < 2,
}


def weights_of(queries, keys, attention_mask=None):
    """Returns the recorded attention weights, (..., T, S)."""
    attention = DotProductAttention()
    with record_attention() as weights:
        attention(queries, keys, keys, attention_mask=attention_mask)
    return numpy(weights[attention])


def test_matches_the_published_example():
    words = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    random = np.random.RandomState(42)
    projections = [random.randint(3, size=(3, 3)) for _ in range(3)]
    y = DotProductAttention()(*[(words @ w).astype("float32")[None] for w in projections])
    published = [
        [0.98522025, 1.74174051, 0.75652026],
        [0.90965265, 1.40965265, 0.5],
        [0.99851226, 1.75849334, 0.75998108],
        [0.99560386, 1.90407309, 0.90846923],
    ]
    np.testing.assert_allclose(numpy(y)[0], published, atol=1e-6)


def test_scores_are_divided_by_the_square_root_of_d_k():
    """Scores 4·ln 3 / √4 and 0 give weights 9/10 and 1/10."""
    queries = np.full((1, 1, 4), np.log(3), "float32")
    keys = np.stack([np.ones((1, 4)), np.zeros((1, 4))], axis=1).astype("float32")
    np.testing.assert_allclose(weights_of(queries, keys), [[[0.9, 0.1]]], atol=1e-6)


def test_attention_weights_sum_to_one():
    for mask in (None, padding(7, 3)):
        weights = weights_of(normal(2, 5, 3), normal(2, 7, 3), mask)
        assert weights.shape == (2, 5, 7)
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-6)


def test_output_is_the_weighted_sum_of_the_values():
    q, k, v = normal(2, 5, 3), normal(2, 7, 3, seed=1), normal(2, 7, 4, seed=2)
    mask = padding(7, 3)
    y = DotProductAttention()(q, k, v, attention_mask=mask)
    np.testing.assert_allclose(numpy(y), weights_of(q, k, mask) @ v, atol=1e-6)


@pytest.mark.every_backend
@pytest.mark.parametrize("mask", FUSED_MASKS.values(), ids=FUSED_MASKS)
def test_a_fused_kernel_computes_the_same(mask, monkeypatch):
    q, k, v = normal(2, 3, 4, 8), normal(2, 3, 6, 8, seed=1), normal(2, 3, 6, 8, seed=2)
    expected = numpy(DotProductAttention()(q, k, v, attention_mask=mask))
    monkeypatch.setattr(dot_product_attention, "has_fused_kernel", lambda *inputs: True)
    fused = DotProductAttention()
    np.testing.assert_allclose(numpy(fused(q, k, v, attention_mask=mask)), expected, atol=1e-5)
    with record_attention() as weights:
        fused(q, k, v, attention_mask=mask)
    assert fused in weights  # somebody looks at the weights, so they are computed


@pytest.mark.every_backend
@pytest.mark.parametrize("hidden", (0, 2), ids=("causal", "with padding"))
def test_a_fused_kernel_computes_a_causal_mask_itself(hidden, monkeypatch):
    mask = causal(2, 6)[:, None] & (np.arange(6) < 6 - hidden)
    inputs = [normal(2, 3, 6, 8, seed=seed) for seed in range(3)]
    expected = numpy(DotProductAttention()(*inputs, attention_mask=mask))
    kernel = ops.dot_product_attention

    def kernel_without_masks(*inputs, mask=None, **options):
        return kernel(*inputs, mask=mask, **options) * (1.0 if mask is None else np.nan)

    monkeypatch.setattr(dot_product_attention, "has_fused_kernel", lambda *inputs: True)
    monkeypatch.setattr(_fused_attention, "_LONG", 6)
    if not hidden:
        monkeypatch.setattr(ops, "dot_product_attention", kernel_without_masks)
    fused = numpy(DotProductAttention()(*inputs, attention_mask=mask))
    np.testing.assert_allclose(fused, expected, atol=1e-5)


def test_masked_keys_get_no_attention():
    values = normal(2, 7, 4)
    only_third = np.arange(7) == 2
    y = DotProductAttention()(normal(2, 5, 3), normal(2, 7, 3), values, attention_mask=only_third)
    np.testing.assert_allclose(numpy(y), np.repeat(values[:, 2:3], 5, axis=1), atol=1e-6)
    weights = weights_of(normal(2, 5, 3), normal(2, 7, 3), padding(7, 3))
    assert (weights[1, :, 3:] == 0).all()


@pytest.mark.every_backend
def test_fully_masked_queries_get_zeros():
    q, k, v = normal(2, 5, 3), normal(2, 7, 3, seed=1), normal(2, 7, 4, seed=2)
    mask = np.ones((2, 5, 7), bool)
    mask[0, 1], mask[1] = False, False
    y = numpy(DotProductAttention()(q, k, v, attention_mask=mask))
    assert (y[0, 1] == 0).all()
    assert (y[1] == 0).all()
    unmasked = numpy(DotProductAttention()(q, k, v))
    np.testing.assert_allclose(y[0, [0, 2, 3, 4]], unmasked[0, [0, 2, 3, 4]], atol=1e-6)


def test_leading_axes_are_independent():
    """(B, N, T, d) is computed as B·N separate sequences (T, d)."""
    attention = DotProductAttention()
    q, k, v = normal(2, 3, 5, 4), normal(2, 3, 7, 4, seed=1), normal(2, 3, 7, 6, seed=2)
    mask = padding(7, 2)[:, None]  # (2, 1, 1, 7)
    y = numpy(attention(q, k, v, attention_mask=mask))
    for b, n in np.ndindex(2, 3):
        alone = attention(q[b, n][None], k[b, n][None], v[b, n][None], attention_mask=mask[b])
        np.testing.assert_allclose(y[b, n], numpy(alone)[0], atol=1e-6)


@pytest.mark.every_backend
@pytest.mark.parametrize("policy", ("mixed_bfloat16", "mixed_float16"))
def test_softmax_runs_in_float32_in_half_precision(policy):
    """300 weights of 1/300 sum to 1 in float32, but not in bfloat16."""
    attention = DotProductAttention(dtype=policy)
    zeros = np.zeros((1, 300, 4))
    with record_attention() as weights:
        attention(zeros[:, :1], zeros, zeros)
    np.testing.assert_allclose(numpy(weights[attention]), 1 / 300, rtol=1e-6)


@pytest.mark.every_backend
@pytest.mark.parametrize("num_unmasked", (1, 0))
def test_scores_of_masked_keys_may_overflow_in_float16(num_unmasked):
    """The score 300·300·8 is infinite in float16."""
    queries, keys = np.full((1, 1, 64), 300.0), np.full((1, 2, 64), 300.0)
    keys[0, 0] = 0.001
    attention = DotProductAttention(dtype="float16")
    y = attention(queries, keys, keys, attention_mask=padding(2, num_unmasked)[1:])
    np.testing.assert_allclose(numpy(y), np.full((1, 1, 64), num_unmasked * 0.001), rtol=1e-3)


def test_recording_changes_no_output_and_ends_with_the_block():
    attention, x = DotProductAttention(), normal(2, 5, 3)
    y = numpy(attention(x, x, x))
    with record_attention() as weights:
        recorded = numpy(attention(x, x, x))
    kept = numpy(weights[attention])
    attention(-x, x, x)
    np.testing.assert_array_equal(recorded, y)
    np.testing.assert_array_equal(numpy(weights[attention]), kept)
    assert list(weights) == [attention]


def test_recorders_can_be_nested_and_end_on_exceptions():
    first, second, x = DotProductAttention(), DotProductAttention(), normal(2, 5, 3)
    with record_attention() as outer:
        with pytest.raises(RuntimeError), record_attention() as inner:
            first(x, x, x)
            raise RuntimeError
        second(x, x, x)
    assert (list(inner), list(outer)) == ([first], [second])
