import functools

import keras
import numpy as np
import pytest
from layer_contract import (
    BAD_RATES,
    BLOCK_SIZES,
    check_refused,
    check_sizes_are_refused,
    numpy,
)
from model_contract import ModelContract, variants
from quick import some_of

from keras_transformer.models import Bert, EncoderClassifier
from keras_transformer.models.classifier import masked_mean
from keras_transformer.settings import BlockSettings

IDS = np.array([[2, 5, 6, 3, 7, 3], [2, 9, 3, 10, 3, 0]], "int32")
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]], "int32")


def make(num_labels=3, pooling="first", rate=0.0, **kwargs):
    pooler = "tanh" if pooling == "pooler" else None
    body = Bert(11, 8, BlockSettings(**BLOCK_SIZES), pooler=pooler, **kwargs)
    return EncoderClassifier(body, num_labels, pooling, rate)


@variants({x: {"pooling": x} for x in ("first", "mean", "pooler")})
class TestClassifier(ModelContract):
    make = staticmethod(make)

    @staticmethod
    def inputs(variant):
        return [IDS, SEGMENTS]

    @staticmethod
    def zero_gradients(variant):
        return ("key_projection/bias",)

    def test_logits_are_a_projection_of_the_pooled_output(self, variant, model):
        x = numpy(model.body(IDS))
        pooled = {
            "first": x[:, 0],
            "mean": np.stack([x[0].mean(axis=0), x[1, :5].mean(axis=0)]),
            "pooler": numpy(model.body.pool(x)),
        }[variant["pooling"]]
        np.testing.assert_allclose(numpy(model.pool(IDS)), pooled, atol=1e-5)
        kernel, bias = model.classifier.get_weights()
        np.testing.assert_allclose(numpy(model(IDS)), pooled @ kernel + bias, atol=1e-4)

    def test_padding_changes_nothing(self, variant, model):
        longer = np.pad(IDS, ((0, 0), (0, 2)))
        np.testing.assert_allclose(numpy(model(longer)), numpy(model(IDS)), atol=1e-4)


def test_masked_mean_of_all_padding_is_zero():
    x = np.ones((2, 3, 4), "float32")
    found = numpy(masked_mean(x, np.array([[0, 0, 0], [5, 0, 0]])))
    np.testing.assert_array_equal(found, [[0] * 4, [1] * 4])


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
        body = Bert(11, 8, BlockSettings(**BLOCK_SIZES))
        check_refused(functools.partial(EncoderClassifier, body, 3), pooling=pooling)
        assert body.pooling.trainable  # as before
