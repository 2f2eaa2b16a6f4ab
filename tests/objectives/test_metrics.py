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

TARGET = np.array([[4, 2, 3, 0], [1, 3, 0, 0]], "int32")  # five words
GUESS = np.array([[4, 1, 3, 0], [1, 4, 0, 2]])  # three of them, and a zero for padding


def logits_of(guess, size=5):
    """Logits whose largest entries are the guessed words."""
    return np.eye(size, dtype="float32")[guess] * 3 + normal(*guess.shape, size) * 0.1


def totals(target, logits):
    right, words = masked_accuracy(target, logits)
    assert dtype_of(right) == dtype_of(words) == "float32"
    assert right.shape == words.shape == ()
    return float(right), float(words)


def test_counts_the_right_words_and_all_words():
    assert totals(TARGET, logits_of(GUESS)) == (3, 5)
    assert totals(TARGET, logits_of(TARGET)) == (5, 5)
    assert totals(TARGET, logits_of((TARGET + 1) % 5)) == (0, 5)


def test_padding_is_not_counted_whatever_is_predicted_there():
    for word in range(5):
        guess = np.where(TARGET == 0, word, GUESS)
        assert totals(TARGET, logits_of(guess)) == (3, 5)
    longer = np.pad(TARGET, ((0, 1), (0, 3)))
    assert totals(longer, logits_of(np.pad(GUESS, ((0, 1), (0, 3))))) == (3, 5)


def test_totals_of_ragged_batches_are_those_of_one_batch():
    first = totals(TARGET[:1, :3], logits_of(GUESS[:1, :3]))
    second = totals(TARGET[1:, :2], logits_of(GUESS[1:, :2]))
    assert (first, second) == ((2, 3), (1, 2))


@pytest.mark.parametrize("dtype", ("int32", "int64", "uint8"))
def test_any_integers_are_ids(dtype):
    assert totals(TARGET.astype(dtype), logits_of(GUESS)) == (3, 5)


@pytest.mark.every_backend
def test_half_precise_counts_are_exact():
    """Counted in half precision, 3,001 words would be 3,000."""
    logits = keras.ops.cast(logits_of(np.ones((1, 3001), int)), "bfloat16")
    assert totals(np.ones((1, 3001), "int32"), logits) == (3001, 3001)


@pytest.mark.every_backend
def test_totals_are_loss_right_words_whatever_is_minimised():
    logits = logits_of(GUESS)
    plain, words = masked_cross_entropy(TARGET, logits)
    for label_smoothing in (0.0, 0.2):
        loss, y = loss_and_totals(TARGET, logits, label_smoothing)
        assert (dtype_of(y), y.shape) == ("float32", (3,))
        np.testing.assert_allclose(numpy(y), [float(plain), 3, float(words)], rtol=1e-6)
        smoothed, _ = masked_cross_entropy(TARGET, logits, label_smoothing)
        assert float(loss) == pytest.approx(float(smoothed))


def test_the_class_is_the_share_of_all_words_so_far():
    """1 of 1 and 0 of 3 is 1 of 4, not the mean of 1 and 0."""
    metric = MaskedAccuracy()
    metric.update_state(np.array([[2]]), logits_of(np.array([[2]])))
    assert float(metric.result()) == 1
    metric.update_state(np.array([[1, 1, 1, 0]]), logits_of(np.array([[2, 3, 4, 0]])))
    assert float(metric.result()) == pytest.approx(0.25)
    metric.update_state(0 * TARGET, logits_of(GUESS))  # nothing but padding
    assert float(metric.result()) == pytest.approx(0.25)
    metric.reset_state()
    metric.update_state(TARGET, logits_of(GUESS))
    assert float(metric.result()) == pytest.approx(0.6)


def test_the_share_of_no_words_is_zero():
    metric = MaskedAccuracy()
    metric.update_state(0 * TARGET, logits_of(GUESS))
    assert float(metric.result()) == 0


def test_the_class_reads_ids_as_floats_and_no_weights_of_sentences():
    metric = MaskedAccuracy()
    weights = np.array([1.0, 0.0])
    metric.update_state(TARGET.astype("float32"), logits_of(GUESS), sample_weight=weights)
    assert float(metric.result()) == pytest.approx(0.6)


def test_made_again_from_its_config():
    metric = MaskedAccuracy(name="another")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
    assert type(again) is MaskedAccuracy
    assert again.get_config() == metric.get_config()
    assert again.name == "another"
    assert MaskedAccuracy().name == "masked_accuracy"


def test_perplexity_is_the_number_of_words_to_choose_from():
    """One of 4 words by chance, then one of 2, then certain: the geometric mean is 2."""
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
