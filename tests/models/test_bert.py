import keras
import numpy as np
import pytest
from layer_contract import (
    BLOCK_SIZES,
    check_dropout,
    check_refused,
    check_sizes_are_refused,
    numpy,
)
from model_contract import ModelContract, variants

from keras_transformer.models import Bert

SIZES = {**BLOCK_SIZES, "vocab_size": 11, "seq_length": 8, "n": 1}
VARIANTS = {
    "bert": {},
    "pre_norm": {"norm_first": True},
    "distilled": {"num_segments": None, "pooler": None},
}
IDS = np.array([[2, 5, 6, 3, 7, 3], [2, 9, 3, 10, 3, 0]], "int32")
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]], "int32")


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@variants(VARIANTS, quick=("bert", "distilled"))
class TestBert(ModelContract):
    model_class, sizes = Bert, SIZES

    @staticmethod
    def inputs(variant):
        return [IDS, SEGMENTS] if variant.get("num_segments", 2) else IDS

    @staticmethod
    def zero_gradients(variant):
        return ("key_projection/bias", "pooling/kernel", "pooling/bias")  # `call` does not pool

    def test_attention_is_bidirectional(self, variant, model):
        y = numpy(model(IDS))
        for t in (1, 4):
            changed = IDS.copy()
            changed[0, t] = 8
            difference = np.abs(numpy(model(changed)) - y).max(axis=-1)
            assert (difference[0] > 1e-4).all()
            np.testing.assert_array_equal(difference[1], 0)

    def test_padding_changes_nothing(self, variant, model):
        x, longer = (numpy(model(ids)) for ids in (IDS, np.pad(IDS, ((0, 0), (0, 2)))))
        np.testing.assert_allclose(longer[:, :6][IDS != 0], x[IDS != 0], atol=1e-5)
        np.testing.assert_allclose(numpy(model.pool(longer)), numpy(model.pool(x)), atol=1e-5)


make = TestBert.make
with_random_weights = TestBert.with_random_weights


def test_attention_dropout_is_active_only_in_training():
    check_dropout(make(attention_rate=0.5), IDS)


@pytest.mark.parametrize(
    ("pooler", "function"), [("tanh", np.tanh), ("relu", lambda x: x * (x > 0))]
)
def test_the_pooler_reads_the_first_token(pooler, function):
    model = with_random_weights(pooler=pooler)
    x = numpy(model(IDS))
    kernel, bias = model.pooling.get_weights()
    np.testing.assert_allclose(numpy(model.pool(x)), function(x[:, 0] @ kernel + bias), atol=1e-5)


def test_without_a_pooler_the_first_token_is_returned():
    model = make(pooler=None)
    x = numpy(model(IDS))
    np.testing.assert_array_equal(numpy(model.pool(x)), x[:, 0])


def test_the_pooler_is_saved(tmp_path):
    model = with_random_weights()
    model(IDS)
    model.save(tmp_path / "bert.keras")
    loaded = keras.models.load_model(tmp_path / "bert.keras")
    y = numpy(model.pool(model(IDS)))
    np.testing.assert_allclose(numpy(loaded.pool(loaded(IDS))), y, atol=1e-6)


class TestArguments:
    def test_bad_sizes_are_refused(self):
        check_sizes_are_refused(make, "vocab_size", "seq_length")
        check_refused(make, num_segments=0)

    @pytest.mark.parametrize("pooler", ("mean", "", True))
    def test_an_unknown_pooler_is_refused(self, pooler):
        check_refused(make, pooler=pooler)
