from functools import partial

import numpy as np
import pytest
from keras import ops
from layer_contract import HALF_POLICIES, normal, numpy

from keras_transformer import BlockSettings, MultiHeadAttention, rotary_embedding
from keras_transformer.layers import Encoder

X, Y = normal(2, 3, 5, 8), normal(2, 3, 5, 8, seed=1)  # (B, N, T, H)


def product(distance, start):
    """The products of each vector of X, at `start`, and of Y, `distance` positions later."""
    x, y = (rotary_embedding(x, start=t) for x, t in ((X, start), (Y, start + distance)))
    return numpy(ops.einsum("bnth,bnsh->bnts", x, y))


def test_products_depend_on_the_distance_only():
    near, same, far = product(3, start=0), product(3, start=40), product(4, start=0)
    np.testing.assert_allclose(same, near, atol=1e-4)
    assert np.abs(far - near).max() > 0.1


def test_lengths_stay_and_so_does_the_first_position():
    y = numpy(rotary_embedding(X))
    np.testing.assert_array_equal(y[:, :, 0], X[:, :, 0])
    np.testing.assert_allclose(np.linalg.norm(y, axis=-1), np.linalg.norm(X, axis=-1), rtol=1e-5)


def test_pairs_are_multiplied_by_complex_numbers_of_the_paper():
    y = numpy(rotary_embedding(X, base=100.0, start=2))
    angles = np.outer(np.arange(2, 7), [100 ** (-2 * i / 8) for i in range(4)])
    expected = (X[..., :4] + 1j * X[..., 4:]) * np.exp(1j * angles)
    np.testing.assert_allclose(y[..., :4] + 1j * y[..., 4:], expected, atol=1e-5)


@pytest.mark.parametrize("dtype", HALF_POLICIES.values())
def test_angles_are_exact_at_distant_positions_in_half_precision(dtype):
    exact = numpy(rotary_embedding(X, start=1001))
    half = rotary_embedding(ops.cast(X, dtype), start=1001)
    assert half.dtype == ops.cast(X, dtype).dtype
    np.testing.assert_allclose(numpy(ops.cast(half, "float32")), exact, atol=0.05)


@pytest.mark.parametrize(("shape", "base"), [((2, 5), 10000.0), ((2, 4), 0.0), ((2, 4), -1.0)])
def test_odd_sizes_and_bad_bases_are_refused(shape, base):
    with pytest.raises(ValueError, match="head_size" if shape[-1] % 2 else "base"):
        rotary_embedding(normal(*shape), base)


def test_settings_require_an_even_size_of_the_heads():
    sizes = {"h": 2, "d_k": 3, "d_v": 3, "d_model": 6}
    for make in (partial(BlockSettings, d_ff=8, **sizes), partial(MultiHeadAttention, **sizes)):
        make()
        with pytest.raises(ValueError, match="`d_k`, the size of a head, must be even"):
            make(rotary_base=100.0)
        with pytest.raises(ValueError, match="rotary_base"):
            make(rotary_base=-1.0)


def test_an_encoder_knows_the_order_but_not_the_place():
    settings = BlockSettings(h=2, d_model=8, d_ff=16, n=2, rotary_base=100.0)
    encoder, x = Encoder(settings=settings), normal(1, 4, 8)
    y = numpy(encoder(x))
    # Behind three masked vectors, the rest comes out the same.
    later = np.concatenate([normal(1, 3, 8, seed=1), x], axis=1)
    visible = np.arange(7)[None, None] >= 3
    np.testing.assert_allclose(numpy(encoder(later, attention_mask=visible))[:, 3:], y, atol=1e-5)
    assert np.abs(numpy(encoder(x[:, ::-1]))[:, ::-1] - y).max() > 0.01
