import keras
import numpy as np
import pytest
from layer_contract import (
    HALF_POLICIES,
    check_dropout,
    check_refused,
    check_saved,
    check_sizes_are_refused,
    dtype_of,
    group_settings,
    normal,
    numpy,
    random_weights,
)
from quick import some_of

from keras_transformer.models import VisionTransformer

SIZES = {
    "image_size": (4, 6),
    "patch_size": 2,
    "num_classes": 7,
    "h": 2,
    "d_k": 3,
    "d_v": 5,
    "d_model": 8,
    "d_ff": 16,
    "n": 1,
    "rate": 0.0,
}
IMAGES = normal(2, 4, 6, 3)
HEADS = pytest.mark.parametrize("d_head", (None, 9), ids=("linear", "hidden"))


def make(**kwargs):
    return VisionTransformer(**group_settings({**SIZES, **kwargs}))


def with_random_weights(**kwargs):
    model = make(**kwargs)
    model.build((None, *model.embedding.image_size, 3))
    model.set_weights(random_weights(model))
    return model


def logits_of(model, images=IMAGES):
    return numpy(model(images))


@HEADS
def test_output_has_one_logit_per_class(d_head):
    model = make(d_head=d_head)
    assert model(IMAGES).shape == (2, 7)
    assert model.compute_output_shape(IMAGES.shape) == (2, 7)
    assert model.encode(IMAGES).shape == (2, 1 + 2 * 3, 8)


@HEADS
def test_build_and_call_create_the_same_weights(d_head):
    built, called = make(d_head=d_head), make(d_head=d_head)
    built.build((None, 4, 6, 3))
    called(IMAGES)
    shapes = [[(w.name, w.shape) for w in model.weights] for model in (built, called)]
    assert shapes[0] == shapes[1]


@HEADS
def test_the_head_reads_only_the_class_token(d_head):
    model = with_random_weights(d_head=d_head)
    x = numpy(model.encode(IMAGES))[:, 0]
    kernel, bias = model.classifier.get_weights()
    if d_head is not None:
        x = numpy(model.hidden(x))
    np.testing.assert_allclose(logits_of(model), x @ kernel + bias, atol=1e-4)


def test_only_a_linear_head_starts_at_zero():
    np.testing.assert_array_equal(logits_of(make()), 0)
    assert np.abs(logits_of(make(d_head=9))).max() > 1e-3


def test_output_depends_on_every_patch():
    model = with_random_weights()
    y = logits_of(model)
    for i in (0, 2):
        for j in (0, 2, 4):
            changed = IMAGES.copy()
            changed[:, i, j] += 1
            assert (np.abs(logits_of(model, changed) - y).max(axis=1) > 1e-4).all()


class TestFineTuning:
    def test_keeps_the_encoder_and_resets_the_head(self):
        model = with_random_weights(d_head=9)
        tuned = model.for_fine_tuning(3)
        np.testing.assert_allclose(numpy(tuned.encode(IMAGES)), numpy(model.encode(IMAGES)))
        np.testing.assert_array_equal(logits_of(tuned), np.zeros((2, 3)))

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


class TestSaving:
    @HEADS
    def test_recreated_from_its_config(self, d_head):
        model = make(d_head=d_head, name="another", dtype="mixed_bfloat16")
        recreated = VisionTransformer.from_config(model.get_config())
        assert recreated.get_config() == model.get_config()
        assert (recreated.name, recreated.dtype_policy.name) == ("another", "mixed_bfloat16")
        y = logits_of(model)
        logits_of(recreated)
        recreated.set_weights(model.get_weights())
        np.testing.assert_allclose(logits_of(recreated), y, atol=1e-6)

    @HEADS
    def test_saved_and_loaded(self, d_head, tmp_path, process):
        model = with_random_weights(d_head=d_head)

        inputs = keras.Input((4, 6, 3))
        check_saved(keras.Model([inputs], model(inputs)), [IMAGES], tmp_path, process)

    def test_a_fine_tuned_model_is_saved_and_loaded(self, tmp_path):
        tuned = with_random_weights().for_fine_tuning(3, image_size=(8, 12))
        tuned.set_weights(random_weights(tuned))
        tuned.save(tmp_path / "tuned.keras")
        images = normal(1, 8, 12, 3)
        loaded = keras.models.load_model(tmp_path / "tuned.keras")
        np.testing.assert_allclose(logits_of(loaded, images), logits_of(tuned, images), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("policy", some_of(list(HALF_POLICIES), quick=("mixed_float16",)))
def test_half_precision_is_finite_and_close(policy):
    model, half = make(d_head=9), make(d_head=9, dtype=policy)
    y = logits_of(model)
    found = half(IMAGES)
    assert dtype_of(found) == HALF_POLICIES[policy]
    half.set_weights(model.get_weights())
    atol = 0.05 if policy == "mixed_float16" else 0.4  # bfloat16 has three fewer mantissa bits
    np.testing.assert_allclose(logits_of(half), y, atol=atol)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    jit_compile = keras.config.backend() == "jax"
    half.compile("sgd", loss, auto_scale_loss=False, jit_compile=jit_compile)
    assert np.isfinite(half.train_on_batch(IMAGES, np.array([0, 6])))
    assert all(np.isfinite(numpy(w)).all() for w in half.weights)


def test_dropout_is_active_only_in_training():
    check_dropout(make(rate=0.5, d_head=9), IMAGES)


def test_one_step_changes_every_weight():
    model = make(d_head=9)
    model.build((None, 4, 6, 3))
    before = model.get_weights()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    jit_compile = keras.config.backend() == "jax"
    model.compile(keras.optimizers.SGD(1.0), loss, jit_compile=jit_compile)
    model.train_on_batch(IMAGES, np.array([0, 6]))
    for weight, old in zip(model.weights, before, strict=True):
        # Softmax ignores a constant added to all scores of a row.
        zero_gradient = weight.path.endswith("key_projection/bias")
        assert (np.abs(numpy(weight) - old).max() > 1e-7) != zero_gradient, weight.path


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
