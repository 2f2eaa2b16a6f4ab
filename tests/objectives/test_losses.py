import keras
import numpy as np
import pytest
from layer_contract import check_refused, dtype_of, normal, numpy

from keras_transformer.objectives import losses
from keras_transformer.objectives.losses import MaskedCrossEntropy, masked_cross_entropy

TARGET = np.array([[4, 2, 0], [1, 0, 0]], "int32")  # three tokens
LOGITS = normal(2, 3, 5)


@pytest.fixture(autouse=True, params=["cpu", "gpu"] if keras.config.backend() == "jax" else ["any"])
def device(request, monkeypatch):
    """The kind of device that the loss is written for; all are computed on the one there is."""
    monkeypatch.setattr(losses, "jax_has_cuda", lambda: request.param == "gpu")
    return request.param


def totals(target, logits, label_smoothing=0.0):
    loss, tokens = masked_cross_entropy(target, logits, label_smoothing)
    assert dtype_of(loss) == dtype_of(tokens) == "float32"
    assert loss.shape == tokens.shape == ()
    return float(loss), float(tokens)


def one_hot_formula(target, logits, label_smoothing=0.0):
    """Computes -Σ q log p over the tokens, with smoothed one-hot vectors q."""
    size = logits.shape[-1]
    p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    q = (1 - label_smoothing) * np.eye(size)[target] + label_smoothing / size
    return ((-q * np.log(p)).sum(axis=-1) * (target != 0)).sum()


@pytest.mark.parametrize("label_smoothing", (0.0, 0.1, 0.9))
def test_uniform_logits_give_a_loss_of_ln_v_per_token(label_smoothing):
    loss, tokens = totals(TARGET, np.full((2, 3, 5), 7.0, "float32"), label_smoothing)
    assert tokens == 3
    assert loss == pytest.approx(3 * np.log(5), rel=1e-6)


def test_matches_a_hand_computed_example():
    """Odds of 1 : 3 and 3 : 1 for the target token give losses ln 4 and ln 4/3."""
    logits = np.array([[[np.log(3), 0.0], [0.0, np.log(3)]]], "float32")
    loss, tokens = totals(np.array([[1, 1]]), logits)
    assert (loss, tokens) == (pytest.approx(np.log(4) + np.log(4 / 3), rel=1e-6), 2)


@pytest.mark.every_backend
@pytest.mark.parametrize("label_smoothing", (0.0, 0.1, 0.9))
def test_equals_the_formula_with_smoothed_one_hot_vectors(label_smoothing):
    loss, tokens = totals(TARGET, LOGITS, label_smoothing)
    assert loss == pytest.approx(one_hot_formula(TARGET, LOGITS, label_smoothing), rel=1e-5)
    assert tokens == 3


@pytest.mark.every_backend
@pytest.mark.parametrize("label_smoothing", (0.0, 0.1))
def test_padding_is_ignored(label_smoothing):
    expected = totals(TARGET, LOGITS, label_smoothing)
    logits = np.where(TARGET[..., None] == 0, 50 * normal(2, 3, 5, seed=1), LOGITS)
    assert totals(TARGET, logits, label_smoothing) == expected
    longer = np.pad(TARGET, ((0, 1), (0, 4)))
    logits = np.pad(LOGITS, ((0, 1), (0, 4), (0, 0)), constant_values=3)
    assert totals(longer, logits, label_smoothing) == (pytest.approx(expected[0]), 3)


@pytest.mark.every_backend
@pytest.mark.parametrize("label_smoothing", (0.0, 0.1, 0.9))
def test_gradient_is_softmax_minus_labels(label_smoothing):
    """SGD with learning rate 1 subtracts the gradient from the logits; for padding it is 0."""
    logits = keras.Sequential([keras.layers.Embedding(2, 15), keras.layers.Reshape((3, 5))])
    logits.compile(
        keras.optimizers.SGD(1.0), MaskedCrossEntropy(label_smoothing), jit_compile=False
    )
    logits.build((2,))
    logits.set_weights([LOGITS.reshape(2, 15)])
    logits.train_on_batch(np.array([0, 1]), TARGET)
    change = LOGITS - logits.get_weights()[0].reshape(2, 3, 5)
    p = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=-1, keepdims=True)
    q = (1 - label_smoothing) * np.eye(5)[TARGET] + label_smoothing / 5
    np.testing.assert_allclose(change, (p - q) * (TARGET != 0)[..., None] / 3, atol=1e-6)


@pytest.mark.every_backend
@pytest.mark.skipif(keras.config.backend() != "jax", reason="XLA tells what memory a program takes")
def test_the_backward_pass_keeps_no_softmax(device):
    import jax

    if device == "gpu":
        pytest.skip("what a GPU does in place, a CPU copies")
    target, logits = np.ones((8, 16), "int32"), np.ones((8, 16, 1000), "float32")
    gradient = jax.grad(lambda logits: masked_cross_entropy(target, logits)[0])
    memory = jax.jit(gradient).lower(logits).compile().memory_analysis()
    assert memory.temp_size_in_bytes <= 1.1 * logits.nbytes


def test_totals_are_additive_over_batches():
    whole = totals(TARGET, LOGITS)
    first, second = totals(TARGET[:1, :2], LOGITS[:1, :2]), totals(TARGET[1:, :1], LOGITS[1:, :1])
    assert np.add(first, second) == pytest.approx(whole)
    assert first[1] != second[1]


def test_loss_of_all_padding_is_zero():
    assert totals(0 * TARGET, LOGITS) == (0, 0)
    assert float(MaskedCrossEntropy()(0 * TARGET, LOGITS)) == 0


@pytest.mark.every_backend
@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
def test_half_precision_logits_are_summed_in_float32(dtype):
    """20,001 tokens of loss ln 50: the sum overflows in float16, and bfloat16 rounds 20,001."""
    logits = keras.ops.zeros((1, 20_001, 50), dtype)
    loss, tokens = totals(np.ones((1, 20_001), "int32"), logits)
    assert (loss, tokens) == (pytest.approx(20_001 * np.log(50), rel=1e-5), 20_001)


def test_large_logits_stay_finite():
    loss, _ = totals(np.array([[1, 1]]), np.array([[[1e4, 0.0], [0.0, 1e4]]], "float32"))
    assert loss == pytest.approx(1e4)


@pytest.mark.every_backend
def test_logits_of_minus_infinity_give_a_finite_loss():
    """Logits 0, 0 and -∞ give the loss ln 2."""
    loss, _ = totals(np.array([[1]]), np.array([[[0, 0, -np.inf]]], "float32"))
    assert loss == pytest.approx(np.log(2))


@pytest.mark.parametrize("label_smoothing", (0.0, 0.1))
def test_loss_class_returns_the_mean_per_token(label_smoothing):
    loss, tokens = totals(TARGET, LOGITS, label_smoothing)
    mean = MaskedCrossEntropy(label_smoothing)(TARGET, LOGITS)
    assert float(mean) == pytest.approx(loss / tokens, rel=1e-6)
    as_floats = MaskedCrossEntropy(label_smoothing)(TARGET.astype("float32"), LOGITS)
    assert float(as_floats) == float(mean)


def test_recreated_from_its_config():
    loss = MaskedCrossEntropy(0.1, name="another")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert type(again) is MaskedCrossEntropy
    assert again.get_config() == loss.get_config()
    assert (again.label_smoothing, again.name) == (0.1, "another")
    np.testing.assert_array_equal(numpy(again(TARGET, LOGITS)), numpy(loss(TARGET, LOGITS)))


@pytest.mark.parametrize("label_smoothing", (-0.1, 1, 1.0, 2))
def test_bad_label_smoothing_is_refused(label_smoothing):
    check_refused(MaskedCrossEntropy, label_smoothing=label_smoothing)


def test_sample_weights_are_refused():
    target, logits = np.ones((2, 3), "int32"), np.zeros((2, 3, 4), "float32")
    with pytest.raises(ValueError, match="leave `sample_weight` out"):
        MaskedCrossEntropy()(target, logits, sample_weight=np.ones(2))


def test_keras_mask_of_the_logits_is_ignored():
    inputs = np.array([[5, 6, 0], [7, 0, 0]], "int32")
    x = keras.layers.Embedding(9, 4, mask_zero=True)(inputs)
    logits = keras.layers.Dense(9)(keras.layers.LSTM(4, return_sequences=True)(x))
    loss = MaskedCrossEntropy()
    assert float(loss(inputs, logits)) == pytest.approx(float(loss(inputs, numpy(logits))))
