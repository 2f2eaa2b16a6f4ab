import itertools

import keras
import numpy as np
import pytest
from layer_contract import (
    HALF_POLICIES,
    LayerContract,
    check_dropout,
    check_rates_are_refused,
    normal,
    numpy,
)

from keras_transformer.layers import Dropout


@pytest.mark.every_backend
class TestContract(LayerContract):
    def inputs(self):
        return {"inputs": normal(2, 5, 8)}

    def make(self, **kwargs):
        return Dropout(0.5, **kwargs)


def drop_ones(rate, *shape, dtype="float32"):
    """Applies dropout to an array of ones."""
    return numpy(Dropout(rate, seed=0, dtype=dtype)(np.ones(shape, "float32"), training=True))


def test_bad_rates_are_refused():
    check_rates_are_refused(Dropout)


def test_dropout_is_active_only_in_training():
    check_dropout(Dropout(0.5), normal(2, 5, 8))


@pytest.mark.parametrize("width", (400, 401, 1))
@pytest.mark.parametrize("rate", (0.1, 0.3, 0.75, 0.999))
def test_drops_the_given_fraction_and_preserves_the_mean(rate, width):
    y = drop_ones(rate, 400_000 // width, width)
    fraction = np.mean(y == 0)
    assert abs(fraction - rate) < 5 * np.sqrt(rate * (1 - rate) / y.size)
    np.testing.assert_allclose(y[y != 0], 1 / (1 - rate), rtol=0.01)


@pytest.mark.every_backend
@pytest.mark.parametrize("width", (400, 401))
@pytest.mark.parametrize("policy", HALF_POLICIES)
def test_rate_is_exact_in_half_precision(policy, width):
    """A random bfloat16 number in [0, 1) is below 0.1 with a probability of 0.102."""
    fraction = np.mean(drop_ones(0.1, 4000, width, dtype=policy) == 0)
    assert abs(fraction - 0.1) < 5 * np.sqrt(0.1 * 0.9 / 1_600_000)


def test_rate_close_to_one_is_finite_in_half_precision():
    assert np.isfinite(drop_ones(0.999999, 4000, 400, dtype="mixed_float16")).all()


def test_scalars_are_dropped():
    layer = Dropout(0.5, seed=0)
    found = {float(numpy(layer(np.float32(1), training=True))) for _ in range(30)}
    assert found == {0.0, 2.0}


@pytest.mark.parametrize("rate", (0.5, 0.1))
def test_mask_bits_are_pairwise_uncorrelated(rate):
    zeros = drop_ones(rate, 200_000, 8) == 0
    correlation = np.corrcoef(zeros, rowvar=False) - np.eye(8)
    assert np.abs(correlation).max() < 1 / 256 + 5 / np.sqrt(200_000)


@pytest.mark.every_backend
def test_mask_bits_are_uncorrelated_in_triples():
    """At rate 0.5, the product of any three independent signs has mean 0."""
    signs = 1 - 2 * (drop_ones(0.5, 200_000, 8) == 0)
    for three in itertools.combinations(signs.T, 3):
        assert abs(np.mean(np.prod(three, axis=0))) < 5 / np.sqrt(200_000)


@pytest.mark.every_backend
def test_gradient_flows_through_kept_inputs_only():
    layer = Dropout(0.5, seed=0)
    x = keras.Input((8,))
    dense = keras.layers.Dense(8, use_bias=False, kernel_initializer="identity")
    model = keras.Model(x, layer(dense(x)))
    model.compile(keras.optimizers.SGD(1.0), lambda target, y: keras.ops.sum(y))
    model.train_on_batch(np.ones((1, 8), "float32"), np.zeros((1, 8), "float32"))
    change = np.unique(dense.get_weights()[0] - np.eye(8))
    np.testing.assert_allclose(change, [-2, 0], atol=1e-4)


def test_same_seed_gives_the_same_mask():
    np.testing.assert_array_equal(drop_ones(0.3, 4, 6), drop_ones(0.3, 4, 6))


def test_noise_shape_drops_whole_rows():
    y = numpy(
        Dropout(0.5, noise_shape=(None, 1), seed=0)(np.ones((50, 4), "float32"), training=True)
    )
    assert set(y.sum(axis=1)) == {0, 8}
