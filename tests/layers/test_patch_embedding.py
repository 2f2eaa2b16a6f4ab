import numpy as np
import pytest
from layer_contract import (
    LayerContract,
    check_refused,
    check_sizes_are_refused,
    normal,
    numpy,
    random_weights,
)

from keras_transformer.layers import PatchEmbedding

SIZES = {"image_size": (4, 6), "patch_size": 2, "output_dim": 5}


class TestPatches(LayerContract):
    def inputs(self):
        return {"images": normal(2, 4, 6, 3)}

    def make(self, **kwargs):
        return PatchEmbedding(**SIZES, **kwargs)


def make(**kwargs):
    return PatchEmbedding(**{**SIZES, **kwargs})


def with_random_weights(channels=3, **kwargs):
    layer = make(**kwargs)
    layer.build((None, *layer.image_size, channels))
    layer.set_weights(random_weights(layer))
    return layer


def test_bad_sizes_are_refused():
    check_sizes_are_refused(make, "image_size", "patch_size", "output_dim")
    check_refused(make, image_size=(4, 5), patch_size=2)
    check_refused(make, image_size=(5, 4), patch_size=2)
    with pytest.raises(ValueError, match=r"positive int\. Received: image_size=0$"):
        make(image_size=(4, 0))


def test_an_integer_size_is_height_and_width():
    assert make(image_size=6).image_size == (6, 6)
    assert make(image_size=6)(normal(1, 6, 6, 1)).shape == (1, 10, 5)


def test_each_patch_is_projected_by_the_same_matrix():
    layer, images = with_random_weights(), normal(2, 4, 6, 3)
    kernel, bias = layer.projection.get_weights()
    positions, y = numpy(layer.positions), numpy(layer(images))
    assert y.shape == (2, 1 + 2 * 3, 5)
    for i in range(2):
        for j in range(3):
            patch = images[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].reshape(2, 12)
            expected = patch @ kernel.reshape(12, 5) + bias + positions[1 + 3 * i + j]
            np.testing.assert_allclose(y[:, 1 + 3 * i + j], expected, atol=1e-5)


def test_class_token_comes_first_and_is_independent_of_the_image():
    layer = with_random_weights()
    expected = numpy(layer.class_token) + numpy(layer.positions)[:1]
    first = numpy(layer(normal(2, 4, 6, 3)))[:, 0]
    np.testing.assert_allclose(first, np.repeat(expected, 2, axis=0), atol=1e-6)


def test_images_of_another_size_are_refused():
    for shape in ((1, 4, 4, 3), (1, 6, 4, 3)):
        with pytest.raises(ValueError, match=r"size \(4, 6\)\. Received: \(\d, 4\)"):
            make()(normal(*shape))


def test_positions_are_interpolated_along_both_axes():
    """Bilinear interpolation of a 2x2 grid to 4x4, with constant edges."""
    layer = with_random_weights(image_size=2, patch_size=1, output_dim=1, channels=1)
    layer.positions.assign([[9.0], [0.0], [4.0], [8.0], [12.0]])
    rows = [[0, 1, 3, 4], [2, 3, 5, 6], [6, 7, 9, 10], [8, 9, 11, 12]]
    found = numpy(layer.positions_for(4))
    np.testing.assert_allclose(found[0], [9.0])
    np.testing.assert_allclose(found[1:].reshape(4, 4), rows, atol=1e-5)


def test_positions_for_the_same_size_are_unchanged():
    layer = with_random_weights()
    np.testing.assert_allclose(numpy(layer.positions_for((4, 6))), numpy(layer.positions))
    assert layer.positions_for((8, 6)).shape == (1 + 4 * 3, 5)


def test_positions_for_partial_patches_are_refused():
    with pytest.raises(ValueError, match=r"multiple of `patch_size`\. Received: image_size=\(4, 7"):
        with_random_weights().positions_for((4, 7))
