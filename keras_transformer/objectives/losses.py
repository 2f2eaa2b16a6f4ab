"""The loss, over real words only."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_rate
from keras_transformer._utils.special_tokens import PADDING_ID


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
    smoothed, _, _ = word_losses(target, logits, label_smoothing)
    return ops.sum(smoothed), ops.sum(_words(target))


def word_losses(target, logits, label_smoothing=0.0):
    """Cross entropy of each word, with and without label smoothing, and whether it was predicted.

    No one-hot vectors: -Σ q·log p = log Σ exp z - (1 - ε)·z_target - ε·mean(z). The gradient
    softmax(z) - q is written down, for the one that TensorFlow derives visits the logits, the
    largest tensor of a step, several times more: half of the time of a small model's step.

    Args:
        target: integer token ids, (B, T).
        logits: (B, T, V), of any float type; computed in float32.
        label_smoothing: ε, in [0, 1).

    Returns:
        Three float32 tensors (B, T), 0 for padding: the losses in nats to be minimised; the plain
        ones; and 1 where no other word has a higher logit. Gradients flow through the first alone.
    """
    losses = _losses_and_hits(ops.cast(target, "int32"), label_smoothing)
    return tuple(ops.unstack(losses(logits) * _words(target), 3))


def _words(target):
    return ops.cast(ops.not_equal(target, PADDING_ID), "float32")


def _losses_and_hits(target, label_smoothing):
    """From logits to what `word_losses` returns, float32 (3, B, T), with its gradient."""

    @ops.custom_gradient
    def losses(logits):
        wide = ops.cast(logits, "float32")
        probabilities = ops.softmax(wide)
        highest = ops.max(wide, axis=-1, keepdims=True)
        # The highest probability is exp(highest) / Σ exp z, and never too small to be written.
        log_sum = highest - ops.log(ops.max(probabilities, axis=-1, keepdims=True))
        right = ops.take_along_axis(wide, ops.expand_dims(target, -1), axis=-1)
        plain = log_sum - right
        smoothed = plain
        if label_smoothing:  # else words of logit -inf count for nothing, instead of NaN
            smoothed = plain + label_smoothing * (right - ops.mean(wide, axis=-1, keepdims=True))
        hits = ops.cast(right >= highest, "float32")
        found = ops.squeeze(ops.stack([smoothed, plain, hits]), axis=-1)

        def gradient(*arguments, upstream=None):  # PyTorch gives it by name
            upstream = arguments[-1] if upstream is None else upstream
            upstream = ops.expand_dims(upstream[0], -1)
            share = label_smoothing / logits.shape[-1]  # of each word
            of_right = ops.exp(-plain) - share - (1 - label_smoothing)
            # Narrow before the right words are put in, for that copies all of them.
            of_all = ops.cast((probabilities - share) * upstream, logits.dtype)
            return _replaced(of_all, target, ops.cast(of_right * upstream, logits.dtype))

        return found, gradient

    return losses


def _replaced(x, target, values):
    """The tensor (B, T, V) with `values`, (B, T, 1), at the words of `target`, (B, T)."""
    rows = ops.reshape(x, (-1, x.shape[-1]))
    row = ops.arange(ops.shape(rows)[0], dtype="int32")
    places = ops.stack([row, ops.reshape(target, (-1,))], axis=1)
    rows = ops.scatter_update(rows, places, ops.reshape(values, (-1,)))
    return ops.reshape(rows, ops.shape(x))


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
        # Not by way of the base class: it would weigh the mean once more by a mask that recurrent
        # layers leave on what they put out.
        return self.call(y_true, y_pred)

    def call(self, y_true, y_pred):
        """(B, T) ids and (B, T, V) logits -> scalar."""
        target = ops.cast(y_true, "int32")
        total, count = masked_cross_entropy(target, y_pred, self.label_smoothing)
        return total / ops.maximum(count, 1.0)

    def get_config(self):
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
