import numpy as np
import pytest
from layer_contract import normal

from keras_transformer.data.images import AugmentedImages, transform_images

IMAGES = np.abs(normal(10, 5, 6, 2))
LABELS = np.arange(10)
NO_CHANGE = {"rotation": 0.0, "scale": 0.0, "shear": 0.0, "shift": 0.0}


def make(**options):
    return AugmentedImages(IMAGES, LABELS, **{"batch_size": 4, "seed": 1, **options})


def transformed(matrix, shift=(0, 0), images=IMAGES):
    count = len(images)
    return transform_images(images, np.tile(matrix, (count, 1, 1)), np.tile(shift, (count, 1)))


def test_the_identity_changes_nothing():
    np.testing.assert_allclose(transformed(np.eye(2)), IMAGES, atol=1e-6)


def test_a_shift_fills_with_black():
    shifted = transformed(np.eye(2), (1, -2))
    np.testing.assert_allclose(shifted[:, :-1, 2:], IMAGES[:, 1:, :-2], atol=1e-6)
    assert not shifted[:, -1].any() and not shifted[:, :, :2].any()


def test_a_shift_by_half_a_pixel_averages_neighbors():
    shifted = transformed(np.eye(2), (0, 0.5))
    np.testing.assert_allclose(
        shifted[:, :, :-1], (IMAGES[:, :, :-1] + IMAGES[:, :, 1:]) / 2, atol=1e-6
    )


def test_a_rotation_by_180_degrees_reverses_both_axes():
    np.testing.assert_allclose(transformed(-np.eye(2)), IMAGES[:, ::-1, ::-1], atol=1e-5)


def test_a_shift_beyond_the_edge_is_black():
    assert not transformed(np.eye(2), (99, -99)).any()


def test_an_epoch_has_each_image_at_most_once_with_its_label():
    batches = make(**NO_CHANGE)
    assert len(batches) == 2
    labels = np.concatenate([batches[i][1] for i in range(2)])
    assert len(set(labels)) == 8
    for i in range(2):
        images, labels = batches[i]
        np.testing.assert_allclose(images, IMAGES[labels], atol=1e-6)


def test_batches_depend_only_on_seed_and_epoch():
    one, same, other = make(), make(), make(seed=2)
    np.testing.assert_array_equal(one[1][0], same[1][0])
    assert not np.array_equal(one[1][0], other[1][0])
    first = one[0][0]
    one.on_epoch_end()
    assert not np.array_equal(one[0][0], first)
    same.set_epoch(1)
    np.testing.assert_array_equal(one[0][0], same[0][0])
    one.set_epoch(0)
    np.testing.assert_array_equal(one[0][0], first)


@pytest.mark.parametrize("option", NO_CHANGE)
def test_each_option_changes_images(option):
    batches = make(**{**NO_CHANGE, option: 0.5 if option != "rotation" else 30.0})
    images, labels = batches[0]
    assert images.shape == (4, 5, 6, 2) and images.dtype == np.float32
    assert np.abs(images - IMAGES[labels]).max() > 0.01


@pytest.mark.parametrize(("images", "labels", "size"), [(10, 9, 4), (10, 10, 11), (10, 10, 0)])
def test_invalid_batches_are_refused(images, labels, size):
    with pytest.raises(ValueError, match=rf"Received: {images} images, .*batch_size={size}$"):
        AugmentedImages(IMAGES[:images], LABELS[:labels], size, seed=0)
