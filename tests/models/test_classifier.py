import keras
import numpy as np
import pytest
from layer_contract import (
    BAD_RATES,
    HALF_POLICIES,
    check_dropout,
    check_refused,
    check_saved,
    check_sizes_are_refused,
    numpy,
    random_weights,
)
from quick import some_of

from keras_transformer.models import Bert, EncoderClassifier
from keras_transformer.models.classifier import masked_mean
from keras_transformer.settings import BlockSettings

SIZES = {"h": 2, "d_k": 3, "d_v": 5, "d_model": 8, "d_ff": 16, "n": 1, "rate": 0.0}
POOLINGS = pytest.mark.parametrize("pooling", ("first", "mean", "pooler"))
IDS = np.array([[2, 5, 6, 3, 7, 3], [2, 9, 3, 10, 3, 0]], "int32")
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]], "int32")


def make(num_labels=3, pooling="first", rate=0.0, **kwargs):
    pooler = "tanh" if pooling == "pooler" else None
    body = Bert(11, 8, BlockSettings(**SIZES), pooler=pooler, **kwargs)
    return EncoderClassifier(body, num_labels, pooling, rate)


def with_random_weights(**kwargs):
    model = make(**kwargs)
    model.build((None, None))
    model.set_weights(random_weights(model))
    return model


@POOLINGS
def test_output_has_one_logit_per_label(pooling):
    model = make(pooling=pooling)
    assert model(IDS[:1]).shape == (1, 3)
    assert model((IDS, SEGMENTS)).shape == (2, 3)
    assert model.compute_output_shape((1, 6)) == (1, 3)
    assert model.compute_output_shape(((None, 6), (None, 6))) == (None, 3)


@POOLINGS
def test_logits_are_a_projection_of_the_pooled_output(pooling):
    model = with_random_weights(pooling=pooling)
    x = numpy(model.body(IDS))
    pooled = {
        "first": x[:, 0],
        "mean": np.stack([x[0].mean(axis=0), x[1, :5].mean(axis=0)]),
        "pooler": numpy(model.body.pool(x)),
    }
    np.testing.assert_allclose(numpy(model.pool(IDS)), pooled[pooling], atol=1e-5)
    kernel, bias = model.classifier.get_weights()
    np.testing.assert_allclose(numpy(model(IDS)), pooled[pooling] @ kernel + bias, atol=1e-4)


@POOLINGS
def test_padding_changes_nothing(pooling):
    model = with_random_weights(pooling=pooling)
    longer = np.pad(IDS, ((0, 0), (0, 2)))
    np.testing.assert_allclose(numpy(model(longer)), numpy(model(IDS)), atol=1e-4)


def test_masked_mean_of_all_padding_is_zero():
    x = np.ones((2, 3, 4), "float32")
    found = numpy(masked_mean(x, np.array([[0, 0, 0], [5, 0, 0]])))
    np.testing.assert_array_equal(found, [[0] * 4, [1] * 4])


class TestSaving:
    @POOLINGS
    def test_recreated_from_its_config(self, pooling):
        model = make(pooling=pooling, dtype="mixed_bfloat16")
        recreated = EncoderClassifier.from_config(model.get_config())
        assert recreated.get_config() == model.get_config()
        assert recreated.dtype_policy.name == "mixed_bfloat16"
        y = numpy(model(IDS))
        recreated(IDS)
        recreated.set_weights(model.get_weights())
        np.testing.assert_allclose(numpy(recreated(IDS)), y, atol=1e-6)

    @POOLINGS
    def test_saved_and_loaded(self, pooling, tmp_path, process):
        model = with_random_weights(pooling=pooling)
        check_saved(model, [IDS, SEGMENTS], tmp_path, process)


@pytest.mark.slow
@pytest.mark.parametrize("policy", HALF_POLICIES)
@POOLINGS
def test_half_precision_is_finite_even_for_all_padding(pooling, policy):
    model = make(pooling=pooling, dtype=policy)
    ids = IDS * np.array([[1], [0]], "int32")
    assert np.isfinite(numpy(model(ids))).all()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    jit_compile = keras.config.backend() == "jax"
    model.compile("sgd", loss, auto_scale_loss=False, jit_compile=jit_compile)
    assert np.isfinite(model.train_on_batch(ids, np.array([0, 2])))
    assert all(np.isfinite(numpy(w)).all() for w in model.weights)


def test_dropout_is_active_only_in_training():
    check_dropout(make(rate=0.5), IDS)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", some_of(("first", "mean", "pooler"), quick=["pooler"]))
def test_learns_which_of_two_tokens_a_text_contains(pooling):
    rng = np.random.default_rng(0)
    ids = rng.integers(7, 11, (400, 8)).astype("int32")
    ids[:, 0] = 2
    labels = rng.integers(0, 2, 400)
    ids[np.arange(400), rng.integers(1, 8, 400)] = 5 + labels
    keras.utils.set_random_seed(1)
    model = make(num_labels=2, pooling=pooling)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    jit_compile = keras.config.backend() == "jax"
    model.compile(keras.optimizers.Adam(0.01), loss, jit_compile=jit_compile)
    model.fit(ids[:300], labels[:300], batch_size=30, epochs=15, verbose=0)
    correct = numpy(model(ids[300:])).argmax(axis=-1) == labels[300:]
    assert correct.mean() > 0.9


class TestArguments:
    def test_bad_arguments_are_refused(self):
        check_sizes_are_refused(make, "num_labels")
        for rate in BAD_RATES:
            check_refused(make, rate=rate)

    @pytest.mark.parametrize("pooling", ("last", "max", None))
    def test_an_unknown_pooling_is_refused(self, pooling):
        check_refused(make, pooling=pooling)

    def test_a_text_longer_than_the_learned_positions_is_refused(self):
        with pytest.raises(ValueError, match=r"longer than `seq_length`"):
            make()(np.ones((1, 9), "int32"))
