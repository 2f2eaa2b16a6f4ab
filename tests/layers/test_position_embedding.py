import keras
import numpy as np
import pytest
from keras import ops
from layer_contract import (
    LayerContract,
    check_refused,
    check_sizes_are_refused,
    normal,
    numpy,
    random_weights,
)

from keras_transformer.layers import PositionEmbeddingFixedWeights, PositionEmbeddingLayer
from keras_transformer.layers.sinusoidal_encoding import sinusoidal_encoding
from keras_transformer.testing import check_save_and_load

SIZES = {"seq_length": 5, "vocab_size": 10, "output_dim": 6}
ANY_LENGTH = {**SIZES, "seq_length": None}
IDS = np.array([[5, 6, 7, 2, 0], [3, 4, 2, 0, 0]], "int32")
EITHER = pytest.mark.parametrize(
    "layer_class", (PositionEmbeddingFixedWeights, PositionEmbeddingLayer)
)


class TestFixedPositions(LayerContract):
    def inputs(self):
        return {"ids": IDS}

    def make(self, **kwargs):
        return PositionEmbeddingFixedWeights(**SIZES, base=100.0, **kwargs)


class TestFrozen(LayerContract):
    def inputs(self):
        return {"ids": IDS}

    def make(self, **kwargs):
        return PositionEmbeddingFixedWeights(**SIZES, freeze_words=True, **kwargs)


class TestLearnedPositions(LayerContract):
    def inputs(self):
        return {"ids": IDS}

    def make(self, **kwargs):
        return PositionEmbeddingLayer(**SIZES, **kwargs)


@EITHER
def test_bad_sizes_are_refused(layer_class):
    def make(**kwargs):
        return layer_class(**{**SIZES, **kwargs})

    check_sizes_are_refused(make, "vocab_size", "output_dim")
    check_refused(make, seq_length=0)


def test_learned_positions_require_seq_length():
    check_refused(lambda **kwargs: PositionEmbeddingLayer(**{**SIZES, **kwargs}), seq_length=None)


def test_sinusoids_require_an_even_output_dim():
    def make(**kwargs):
        return PositionEmbeddingFixedWeights(**{**SIZES, **kwargs})

    check_refused(make, output_dim=5)
    assert PositionEmbeddingLayer(**{**SIZES, "output_dim": 5})(IDS).shape == (2, 5, 5)


def test_sinusoidal_table_matches_the_published_example():
    published = [
        [0, 1, 0, 1],
        [0.84147098, 0.54030231, 0.09983342, 0.99500417],
        [0.90929743, -0.41614684, 0.19866933, 0.98006658],
        [0.14112001, -0.9899925, 0.29552021, 0.95533649],
    ]
    np.testing.assert_allclose(numpy(sinusoidal_encoding(4, 4, base=100)), published, atol=1e-6)


def test_sinusoidal_table_equals_the_formula_at_large_positions():
    t, i = np.arange(3000)[:, None], np.arange(8)[None]
    angles = t / 10000 ** (2 * i / 16)
    expected = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(3000, 16)
    np.testing.assert_allclose(numpy(sinusoidal_encoding(3000, 16)), expected, atol=1e-3)


def test_frozen_words_match_the_published_example():
    layer = PositionEmbeddingFixedWeights(**SIZES, freeze_words=True)
    y = numpy(layer(IDS))
    assert y.shape == (2, 5, 6)
    first = [-0.9589243, 1.2836622, 0.23000172, 1.9731903, 0.01077196, 1.9999421]
    last = [-0.7568025, 0.3463564, 0.18459873, 1.982814, 0.00861763, 1.9999628]
    np.testing.assert_allclose(y[0, 0], first, atol=1e-6)
    np.testing.assert_allclose(y[0, 4], last, atol=1e-6)
    np.testing.assert_allclose(y[1, 4], last, atol=1e-6)
    assert not layer.trainable_weights


def test_words_but_not_positions_are_scaled_by_the_square_root_of_the_size():
    layer = PositionEmbeddingFixedWeights(**SIZES, base=100.0)
    layer.build(IDS.shape)
    table = normal(10, 6)
    layer.set_weights([table])
    expected = table[IDS] * np.sqrt(6) + numpy(sinusoidal_encoding(5, 6, base=100.0))
    np.testing.assert_allclose(numpy(layer(IDS)), expected, atol=1e-5)


def test_initial_words_are_about_as_large_as_positions():
    """Scaled embeddings have a standard deviation of 1; sines and cosines have √½."""
    layer = PositionEmbeddingFixedWeights(5, vocab_size=1000, output_dim=64)
    layer.build((None, 5))
    assert numpy(layer.words.embeddings).std() * np.sqrt(64) == pytest.approx(1, abs=0.05)


def test_learned_positions_are_added_to_learned_words():
    layer = PositionEmbeddingLayer(**SIZES)
    y = layer(IDS)
    assert y.shape == (2, 5, 6)
    layer.set_weights(random_weights(layer))
    words, positions = numpy(layer.words.embeddings), numpy(layer.positions.embeddings)
    assert (words.shape, positions.shape) == ((10, 6), (5, 6))
    np.testing.assert_allclose(numpy(layer(IDS)), words[IDS] + positions, atol=1e-6)
    np.testing.assert_allclose(numpy(layer(IDS[:, :3])), words[IDS[:, :3]] + positions[:3])


@pytest.mark.parametrize("freeze_words", (False, True))
def test_fixed_positions_have_no_maximum_length(freeze_words):
    layer = PositionEmbeddingFixedWeights(**ANY_LENGTH, freeze_words=freeze_words)
    ids = np.tile(IDS, (1, 40))
    y = numpy(layer(ids))
    assert y.shape == (2, 200, 6)
    np.testing.assert_allclose(y[:, :5], numpy(layer(IDS)), atol=1e-6)
    assert len(np.unique(y[0, ::5].round(4), axis=0)) == 40  # the same word at 40 positions


def test_sequences_longer_than_seq_length_are_refused():
    with pytest.raises(ValueError, match=r"Received: a length of 6, seq_length=5"):
        PositionEmbeddingFixedWeights(**SIZES)(np.zeros((2, 6), "int32"))


def test_learned_positions_beyond_seq_length_are_refused():
    layer = PositionEmbeddingLayer(**SIZES)
    for ids, start in ((np.zeros((2, 6), "int32"), 0), (IDS[:, :2], 4)):
        with pytest.raises(ValueError, match=r"seq_length[\s\S]*Received: a length of 6"):
            layer(ids, start=start)


@EITHER
def test_start_gives_a_slice_of_the_full_output(layer_class):
    layer = layer_class(**SIZES)
    layer.build(IDS.shape)
    layer.set_weights(random_weights(layer))
    whole = numpy(layer(IDS))
    for start in (0, 2, 4):
        for first in (start, ops.convert_to_tensor(start, dtype="int32")):
            for end in range(start + 1, 6):
                part = numpy(layer(IDS[:, start:end], start=first))
                np.testing.assert_allclose(part, whole[:, start:end], atol=1e-6)


@pytest.mark.every_backend
def test_large_start_is_exact_in_half_precision():
    layer = PositionEmbeddingFixedWeights(**ANY_LENGTH, dtype="mixed_bfloat16")
    layer.build(IDS.shape)
    whole = numpy(layer(np.tile(IDS, (1, 80))))
    start = ops.convert_to_tensor(300, dtype="int32")
    np.testing.assert_array_equal(numpy(layer(IDS, start=start)), whole[:, 300:305])


@pytest.mark.every_backend
def test_positions_are_exact_in_half_precision():
    """In bfloat16, which has 8 significant bits, positions 256 and 257 would be equal."""
    layer = PositionEmbeddingFixedWeights(**ANY_LENGTH, freeze_words=True, dtype="mixed_bfloat16")
    y = numpy(layer(np.zeros((1, 500), "int32")))[0]
    expected = numpy(sinusoidal_encoding(500, 6)) + np.array([0, 1, 0, 1, 0, 1])  # word 0
    np.testing.assert_allclose(y, expected, atol=0.02)  # bfloat16 rounding of numbers up to 2


@EITHER
@pytest.mark.parametrize("policy", ("float32", "mixed_float16"))
def test_logits_are_dot_products_with_the_word_embeddings(layer_class, policy):
    layer = layer_class(**SIZES, dtype=policy)
    layer.build(IDS.shape)
    x = normal(2, 5, 6)
    logits = layer.to_logits(x)
    assert logits.shape == (2, 5, 10)
    np.testing.assert_allclose(numpy(logits), x @ numpy(layer.words.embeddings).T, atol=1e-5)


@EITHER
def test_a_tied_output_of_a_functional_model_is_trained_and_saved(layer_class):
    layer, ids = layer_class(**SIZES), keras.Input(IDS.shape[1:], dtype="int32")
    model = keras.Model(ids, layer.to_logits(layer(ids)))
    assert model(IDS).shape == (*IDS.shape, 10) and model.output_shape[1:] == (*IDS.shape[1:], 10)
    model.set_weights([2 * x for x in model.get_weights()])
    x = numpy(layer(IDS))
    np.testing.assert_allclose(
        numpy(model(IDS)), x @ numpy(layer.words.embeddings).T, rtol=1e-5, atol=1e-5
    )
    check_save_and_load(model, IDS)


def test_bad_sinusoid_arguments_are_refused():
    for arguments in ((3, 5), (3, 4, 0.0), (3, 4, -1.0)):
        with pytest.raises(ValueError, match="Received: "):
            sinusoidal_encoding(*arguments)
