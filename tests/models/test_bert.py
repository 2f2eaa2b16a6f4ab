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
    numpy,
    random_weights,
)
from quick import some_of

from keras_transformer.models import Bert

SIZES = {
    "vocab_size": 11,
    "seq_length": 8,
    "h": 2,
    "d_k": 3,
    "d_v": 5,
    "d_model": 8,
    "d_ff": 16,
    "n": 1,
    "rate": 0.0,
}
VARIANTS = {
    "bert": {},
    "pre_norm": {"norm_first": True},
    "distilled": {"num_segments": None, "pooler": None},
}
ALL = pytest.mark.parametrize("variant", some_of(VARIANTS, quick=("bert", "distilled")))
IDS = np.array([[2, 5, 6, 3, 7, 3], [2, 9, 3, 10, 3, 0]], "int32")
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]], "int32")


def make(**kwargs):
    return Bert(**group_settings({**SIZES, **kwargs}))


def inputs_of(model):
    return IDS if model.num_segments is None else (IDS, SEGMENTS)


def with_random_weights(**kwargs):
    model = make(**kwargs)
    model.build((None, None))
    model.set_weights(random_weights(model))
    return model


@ALL
def test_output_has_one_vector_per_token(variant):
    model = make(**variant)
    inputs = inputs_of(model)
    assert model(inputs).shape == (2, 6, 8)
    shape = keras.tree.map_structure(lambda x: x.shape, inputs)
    assert model.compute_output_shape(shape) == (2, 6, 8)
    assert model.compute_output_shape(IDS.shape) == (2, 6, 8)


@ALL
def test_build_and_call_create_the_same_weights(variant):
    built, called = make(**variant), make(**variant)
    built.build((None, None))
    called(inputs_of(called))
    names = [sorted((w.path.split("/", 1)[1], w.shape) for w in m.weights) for m in (built, called)]
    assert names[0] == names[1]
    built.set_weights(random_weights(built))
    called.set_weights(built.get_weights())
    inputs = inputs_of(built)
    np.testing.assert_allclose(numpy(called(inputs)), numpy(built(inputs)), atol=1e-6)


def test_paths_of_weights_are_unique():
    paths = [w.path for w in with_random_weights().weights]
    assert len(set(paths)) == len(paths)


def test_segments_default_to_the_first():
    model = with_random_weights()
    np.testing.assert_allclose(numpy(model(IDS)), numpy(model((IDS, 0 * SEGMENTS))), atol=1e-6)
    assert np.abs(numpy(model(IDS)) - numpy(model((IDS, SEGMENTS)))).max() > 1e-3


@ALL
def test_attention_is_bidirectional(variant):
    model = with_random_weights(**variant)
    y = numpy(model(IDS))
    for t in (1, 4):
        changed = IDS.copy()
        changed[0, t] = 8
        difference = np.abs(numpy(model(changed)) - y).max(axis=-1)
        assert (difference[0] > 1e-4).all()
        np.testing.assert_array_equal(difference[1], 0)


@ALL
def test_padding_changes_nothing(variant):
    model = with_random_weights(**variant)
    longer = np.pad(IDS, ((0, 0), (0, 2)))
    y = numpy(model(longer))[:, :6]
    np.testing.assert_allclose(y[IDS != 0], numpy(model(IDS))[IDS != 0], atol=1e-5)
    np.testing.assert_allclose(
        numpy(model.pool(model(longer))), numpy(model.pool(model(IDS))), atol=1e-5
    )


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


class TestSaving:
    @ALL
    def test_recreated_from_its_config(self, variant):
        model = make(**variant, name="another", dtype="mixed_bfloat16")
        recreated = Bert.from_config(model.get_config())
        assert recreated.get_config() == model.get_config()
        assert (recreated.name, recreated.dtype_policy.name) == ("another", "mixed_bfloat16")
        inputs = inputs_of(model)
        y = numpy(model(inputs))
        recreated(inputs)
        recreated.set_weights(model.get_weights())
        np.testing.assert_allclose(numpy(recreated(inputs)), y, atol=1e-6)

    def test_saved_and_loaded(self, tmp_path, process):
        check_saved(with_random_weights(), [IDS, SEGMENTS], tmp_path, process)

    def test_the_pooler_is_saved(self, tmp_path):
        model = with_random_weights()
        model(IDS)
        model.save(tmp_path / "bert.keras")
        loaded = keras.models.load_model(tmp_path / "bert.keras")
        y = numpy(model.pool(model(IDS)))
        np.testing.assert_allclose(numpy(loaded.pool(loaded(IDS))), y, atol=1e-6)


@pytest.mark.parametrize("policy", some_of(list(HALF_POLICIES), quick=("mixed_float16",)))
@ALL
def test_half_precision_is_close_and_finite_even_for_all_padding(variant, policy):
    model, half = make(**variant), make(**variant, dtype=policy)
    ids = IDS.copy()
    ids[1] = 0
    y = numpy(model(ids))
    found = half(ids)
    assert dtype_of(found) == HALF_POLICIES[policy]
    half.set_weights(model.get_weights())
    np.testing.assert_allclose(numpy(half(ids)), y, atol=0.1)
    assert np.isfinite(numpy(half.pool(half(ids)))).all()


@ALL
@pytest.mark.parametrize("rate", ("rate", "attention_rate"))
def test_dropout_is_active_only_in_training(variant, rate):
    check_dropout(make(**{**variant, rate: 0.5}), IDS)


class TestArguments:
    def test_bad_sizes_are_refused(self):
        check_sizes_are_refused(make, "vocab_size", "seq_length")
        check_refused(make, num_segments=0)

    @pytest.mark.parametrize("pooler", ("mean", "", True))
    def test_an_unknown_pooler_is_refused(self, pooler):
        check_refused(make, pooler=pooler)

    def test_a_text_longer_than_the_learned_positions_is_refused(self):
        with pytest.raises(
            ValueError,
            match=r"longer than `seq_length`[\s\S]*Received: a length of 9, seq_length=8",
        ):
            make()(np.ones((1, 9), "int32"))
