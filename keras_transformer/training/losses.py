"""The loss, over real words only."""

import keras
from keras import ops

from keras_transformer.checks import check_rate
from keras_transformer.special_tokens import PADDING_ID


def masked_cross_entropy(target, logits, label_smoothing=0.0):
    """Cross entropy of the words that are not padding.

    Label smoothing moves a share ε of the probability from the right word to all words alike.

    Args:
        target: integer token ids, (B, T).
        logits: (B, T, V), of any float type; computed in float32.
        label_smoothing: ε, in [0, 1).

    Returns:
        Two float32 scalars: the sum over the words in nats, and their number. The mean over any
        set of batches is the quotient of the totals.

    References:
        "Rethinking the Inception Architecture" (Szegedy et al., 2016), section 7.
    """
    smoothed, _ = word_losses(target, logits, label_smoothing)
    return ops.sum(smoothed), ops.sum(_words(target))


def word_losses(target, logits, label_smoothing=0.0):
    """Cross entropy of each word, with and without label smoothing; 0 for padding.

    No one-hot vectors: -Σ q·log p = log Σ exp z - (1 - ε)·z_target - ε·mean(z). The gradient
    softmax(z) - q is written down, for the one that TensorFlow derives visits the logits, the
    largest tensor of a step, several times more: half of the time of a small model's step.

    Args:
        target: integer token ids, (B, T).
        logits: (B, T, V), of any float type; computed in float32.
        label_smoothing: ε, in [0, 1).

    Returns:
        Two float32 tensors (B, T): the losses in nats to be minimised, and the plain ones, through
        which no gradient flows.
    """
    losses = _smoothed_and_plain(ops.cast(target, "int32"), label_smoothing)
    smoothed, plain = ops.unstack(losses(ops.cast(logits, "float32")) * _words(target), 2)
    return smoothed, plain


def _words(target):
    return ops.cast(ops.not_equal(target, PADDING_ID), "float32")


def _smoothed_and_plain(target, label_smoothing):
    """A function from logits to both losses, float32 (2, B, T), with its gradient."""

    @ops.custom_gradient
    def losses(logits):
        highest = ops.max(logits, axis=-1, keepdims=True)
        powers = ops.exp(logits - highest)
        sums = ops.sum(powers, axis=-1, keepdims=True)
        right = ops.take_along_axis(logits, ops.expand_dims(target, -1), axis=-1)
        plain = highest + ops.log(sums) - right
        shift = label_smoothing * (right - ops.mean(logits, axis=-1, keepdims=True))
        both = ops.squeeze(ops.stack([plain + shift, plain]), axis=-1)

        def gradient(*arguments, upstream=None):  # PyTorch gives it by name
            upstream = arguments[-1] if upstream is None else upstream
            smoothed = ops.expand_dims(upstream[0], -1)
            return _probabilities_minus_labels(target, powers, sums, smoothed, label_smoothing)

        return both, gradient

    return losses


def _probabilities_minus_labels(target, powers, sums, upstream, label_smoothing):
    size = powers.shape[-1]
    spread = upstream * label_smoothing / size
    result = ops.reshape(powers * (upstream / sums) - spread, (-1, size))
    rows = ops.arange(ops.shape(result)[0], dtype="int32")
    places = ops.stack([rows, ops.reshape(target, (-1,))], axis=1)
    right = ops.take_along_axis(result, places[:, 1:], axis=1) - ops.reshape(
        (1 - label_smoothing) * upstream, (-1, 1)
    )
    result = ops.scatter_update(result, places, ops.squeeze(right, axis=1))
    return ops.reshape(result, ops.shape(powers))


@keras.saving.register_keras_serializable(package="keras_transformer")
class MaskedCrossEntropy(keras.losses.Loss):
    """`masked_cross_entropy` as a mean per word, for `model.compile`.

    Args:
        label_smoothing: ε, in [0, 1).

    Raises:
        ValueError: if `label_smoothing` is not in [0, 1).
    """

    def __init__(self, label_smoothing=0.0, name="masked_cross_entropy", **kwargs):
        # `call` has already taken the mean, over words instead of over sentences.
        super().__init__(name=name, **{"reduction": "sum", **kwargs})
        check_rate(label_smoothing=label_smoothing)
        self.label_smoothing = label_smoothing

    def __call__(self, y_true, y_pred, sample_weight=None):
        """(B, T) ids and (B, T, V) logits -> scalar; sentences cannot be weighted."""
        if sample_weight is not None:
            raise ValueError("This loss counts every word alike: leave `sample_weight` out.")
        return super().__call__(y_true, y_pred)

    def call(self, y_true, y_pred):
        """(B, T) ids and (B, T, V) logits -> scalar."""
        target = ops.cast(y_true, "int32")
        total, count = masked_cross_entropy(target, y_pred, self.label_smoothing)
        return total / ops.maximum(count, 1.0)

    def get_config(self):
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
