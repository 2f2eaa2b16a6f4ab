import keras
import numpy as np
import pytest
from layer_contract import dtype_of, normal, numpy

from keras_transformer.objectives.losses import masked_cross_entropy
from keras_transformer.objectives.metrics import (
    MaskedAccuracy,
    Perplexity,
    loss_and_totals,
    masked_accuracy,
)

TARGET = np.array([[4, 2, 3, 0], [1, 3, 0, 0]], "int32")  # five tokens
PREDICTIONS = np.array([[4, 1, 3, 0], [1, 4, 0, 2]])  # three correct; padding does not count


def logits_of(predictions, size=5):
    """Returns logits whose largest entries are the predicted tokens."""
    return np.eye(size, dtype="float32")[predictions] * 3 + normal(*predictions.shape, size) * 0.1


def totals(target, logits):
    correct, tokens = masked_accuracy(target, logits)
    assert dtype_of(correct) == dtype_of(tokens) == "float32"
    assert correct.shape == tokens.shape == ()
    return float(correct), float(tokens)


def test_counts_correct_and_all_tokens():
    assert totals(TARGET, logits_of(PREDICTIONS)) == (3, 5)
    assert totals(TARGET, logits_of(TARGET)) == (5, 5)
    assert totals(TARGET, logits_of((TARGET + 1) % 5)) == (0, 5)


def test_padding_is_ignored_regardless_of_the_prediction():
    for token in range(5):
        predictions = np.where(TARGET == 0, token, PREDICTIONS)
        assert totals(TARGET, logits_of(predictions)) == (3, 5)
    longer = np.pad(TARGET, ((0, 1), (0, 3)))
    assert totals(longer, logits_of(np.pad(PREDICTIONS, ((0, 1), (0, 3))))) == (3, 5)


def test_totals_are_additive_over_batches():
    first = totals(TARGET[:1, :3], logits_of(PREDICTIONS[:1, :3]))
    second = totals(TARGET[1:, :2], logits_of(PREDICTIONS[1:, :2]))
    assert (first, second) == ((2, 3), (1, 2))


@pytest.mark.parametrize("dtype", ("int32", "int64", "uint8"))
def test_accepts_any_integer_dtype(dtype):
    assert totals(TARGET.astype(dtype), logits_of(PREDICTIONS)) == (3, 5)


@pytest.mark.every_backend
def test_counts_are_exact_with_half_precision_logits():
    """Half precision cannot represent 3,001."""
    logits = keras.ops.cast(logits_of(np.ones((1, 3001), int)), "bfloat16")
    assert totals(np.ones((1, 3001), "int32"), logits) == (3001, 3001)


@pytest.mark.every_backend
def test_totals_are_unsmoothed_loss_correct_and_all_tokens():
    logits = logits_of(PREDICTIONS)
    plain, tokens = masked_cross_entropy(TARGET, logits)
    for label_smoothing in (0.0, 0.2):
        loss, y = loss_and_totals(TARGET, logits, label_smoothing)
        assert (dtype_of(y), y.shape) == ("float32", (3,))
        np.testing.assert_allclose(numpy(y), [float(plain), 3, float(tokens)], rtol=1e-6)
        smoothed, _ = masked_cross_entropy(TARGET, logits, label_smoothing)
        assert float(loss) == pytest.approx(float(smoothed))


@pytest.mark.every_backend
def test_an_own_loss_is_minimized_and_not_reported():
    logits, is_token = logits_of(PREDICTIONS), TARGET != 0
    token_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    plain, reported = loss_and_totals(TARGET, logits)
    for own, expected in (
        (token_loss, plain),
        (lambda target, logits: target * 2.0, 2 * TARGET.sum()),
        (lambda target, logits: np.where(is_token, 1.0, np.nan), 5),
        (lambda target, logits: 0.5, 2.5),  # a mean
    ):
        loss, totals = loss_and_totals(TARGET, keras.ops.cast(logits, "bfloat16"), loss=own)
        assert float(loss) == pytest.approx(float(expected), rel=1e-2)
        np.testing.assert_allclose(numpy(totals), numpy(reported), rtol=1e-2)
    with pytest.raises(ValueError, match=r"loss of each token.* Received: losses of shape \(2,\)"):
        loss_and_totals(TARGET, logits, loss=masked_cross_entropy)


def test_metric_class_averages_over_all_tokens():
    """1 of 1 and 0 of 3 correct tokens are 1 of 4, not the mean of 1 and 0."""
    metric = MaskedAccuracy()
    metric.update_state(np.array([[2]]), logits_of(np.array([[2]])))
    assert float(metric.result()) == 1
    metric.update_state(np.array([[1, 1, 1, 0]]), logits_of(np.array([[2, 3, 4, 0]])))
    assert float(metric.result()) == pytest.approx(0.25)
    metric.update_state(0 * TARGET, logits_of(PREDICTIONS))  # only padding
    assert float(metric.result()) == pytest.approx(0.25)
    metric.reset_state()
    metric.update_state(TARGET, logits_of(PREDICTIONS))
    assert float(metric.result()) == pytest.approx(0.6)


def test_accuracy_of_no_tokens_is_zero():
    metric = MaskedAccuracy()
    metric.update_state(0 * TARGET, logits_of(PREDICTIONS))
    assert float(metric.result()) == 0


def test_metric_class_accepts_float_ids_and_ignores_sample_weights():
    metric = MaskedAccuracy()
    weights = np.array([1.0, 0.0])
    metric.update_state(TARGET.astype("float32"), logits_of(PREDICTIONS), sample_weight=weights)
    assert float(metric.result()) == pytest.approx(0.6)


def test_recreated_from_its_config():
    metric = MaskedAccuracy(name="another")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
    assert type(again) is MaskedAccuracy
    assert again.get_config() == metric.get_config()
    assert again.name == "another"
    assert MaskedAccuracy().name == "masked_accuracy"


def test_perplexity_is_the_inverse_geometric_mean_probability():
    """The target tokens have the probabilities 1/4, 1/2 and 1: the geometric mean is 1/2."""
    never = -1e9
    batches = [
        ([[1, 2]], [[[0.0, 0.0, 0.0, 0.0], [never, 0.0, 0.0, never]]]),
        ([[3, 0]], [[[never, never, never, 0.0], [never, 0.0, never, never]]]),
    ]
    perplexity = Perplexity()
    for target, logits in batches:
        perplexity.update_state(np.array(target), np.array(logits, "float32"))
    assert float(perplexity.result()) == pytest.approx(2.0, rel=1e-5)
    perplexity.reset_state()
    assert float(perplexity.result()) == 1.0
    assert Perplexity.from_config(perplexity.get_config()).name == "perplexity"
