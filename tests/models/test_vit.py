import keras
import numpy as np
import pytest
from layer_contract import (
    BLOCK_SIZES,
    check_refused,
    check_sizes_are_refused,
    normal,
    numpy,
    random_weights,
)
from model_contract import ModelContract, variants

from keras_transformer.models import VisionTransformer

SIZES = {**BLOCK_SIZES, "image_size": (4, 6), "patch_size": 2, "num_classes": 7, "n": 1}
IMAGES = normal(2, 4, 6, 3)


def logits_of(model, images=IMAGES):
    return numpy(model(images))


@variants({"linear": {}, "hidden": {"d_head": 9}})
class TestVisionTransformer(ModelContract):
    model_class, sizes = VisionTransformer, SIZES

    @staticmethod
    def inputs(variant):
        return IMAGES

    @staticmethod
    def zero_gradients(variant):
        return ("key_projection/bias",)

    def test_the_head_reads_only_the_class_token(self, variant, model):
        x = numpy(model.encode(IMAGES))[:, 0]
        kernel, bias = model.classifier.get_weights()
        x = numpy(model.hidden(x)) if variant else x
        np.testing.assert_allclose(logits_of(model), x @ kernel + bias, atol=1e-4)

    def test_output_depends_on_every_patch(self, variant, model):
        y = logits_of(model)
        for i in (0, 2):
            for j in (0, 2, 4):
                changed = IMAGES.copy()
                changed[:, i, j] += 1
                assert (np.abs(logits_of(model, changed) - y).max(axis=1) > 1e-4).all()


make = TestVisionTransformer.make
with_random_weights = TestVisionTransformer.with_random_weights


def test_only_a_linear_head_starts_at_zero():
    np.testing.assert_array_equal(logits_of(make()), 0)
    assert np.abs(logits_of(make(d_head=9))).max() > 1e-3


def test_images_may_have_an_unknown_size_when_it_is_built():
    model = make()
    model.build((None, None, None, 3))
    assert logits_of(model).shape == (2, 7)


class TestFineTuning:
    def test_keeps_the_encoder_and_resets_the_head(self):
        model = with_random_weights(d_head=9)
        tuned = model.for_fine_tuning(3)
        np.testing.assert_allclose(numpy(tuned.encode(IMAGES)), numpy(model.encode(IMAGES)))
        np.testing.assert_array_equal(logits_of(tuned), np.zeros((2, 3)))

    def test_replaces_a_replaced_head(self):
        model = make()
        model.classifier = keras.layers.Dense(5)
        model.build((None, 4, 6, 3))
        np.testing.assert_array_equal(logits_of(model.for_fine_tuning(3)), np.zeros((2, 3)))

    def test_interpolates_positions_for_larger_images(self):
        model = with_random_weights(d_head=9)
        tuned = model.for_fine_tuning(3, image_size=(8, 12))
        assert tuned.encode(normal(1, 8, 12, 3)).shape == (1, 1 + 4 * 6, 8)
        positions = numpy(tuned.embedding.positions)
        np.testing.assert_allclose(positions, numpy(model.embedding.positions_for((8, 12))))
        np.testing.assert_array_equal(positions[0], numpy(model.embedding.positions)[0])
        grid = positions[1:].reshape(4, 6, 8)
        corners = numpy(model.embedding.positions)[1:].reshape(2, 3, 8)[::1, ::2]
        np.testing.assert_allclose(grid[::3, ::5], corners, atol=1e-5)

    def test_does_not_change_the_original_model(self):
        model = with_random_weights()
        before = model.get_weights()
        tuned = model.for_fine_tuning(3)
        tuned.set_weights(random_weights(tuned))
        for weight, old in zip(model.get_weights(), before, strict=True):
            np.testing.assert_array_equal(weight, old)

    def test_requires_a_built_model(self):
        with pytest.raises(ValueError, match=r"Received: vision_transformer\w*, not built$"):
            make().for_fine_tuning(3)

    def test_image_size_must_be_a_multiple_of_the_patch_size(self):
        with pytest.raises(ValueError, match=r"multiple of `patch_size`\. Received: image_size="):
            with_random_weights().for_fine_tuning(3, image_size=(8, 13))

    def test_keeps_the_dtype_policy(self):
        model = with_random_weights(dtype="mixed_bfloat16")
        assert model.for_fine_tuning(3).dtype_policy.name == "mixed_bfloat16"

    def test_is_saved_and_loaded(self, tmp_path):
        tuned = with_random_weights().for_fine_tuning(3, image_size=(8, 12))
        tuned.set_weights(random_weights(tuned))
        tuned.save(tmp_path / "tuned.keras")
        images = normal(1, 8, 12, 3)
        loaded = keras.models.load_model(tmp_path / "tuned.keras")
        np.testing.assert_allclose(logits_of(loaded, images), logits_of(tuned, images), atol=1e-6)


class TestArguments:
    def test_bad_sizes_are_refused(self):
        check_sizes_are_refused(make, "image_size", "patch_size", "num_classes")
        for size in (0, -1, 2.0, True):
            check_refused(make, d_head=size)

    def test_image_size_must_be_a_multiple_of_the_patch_size(self):
        check_refused(make, image_size=(4, 6), patch_size=3)

    def test_images_of_another_size_are_refused(self):
        with pytest.raises(ValueError, match=r"size \(4, 6\)\. Received: \(6, 6\)"):
            make()(normal(1, 6, 6, 3))
