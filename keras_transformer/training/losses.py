"""The loss, over real words only."""

import keras
from keras import ops

from keras_transformer.checks import check_rate
from keras_transformer.special_tokens import PADDING_ID


def masked_cross_entropy(target, logits, label_smoothing=0.0):
    """Cross entropy of the words that are not padding.

    Label smoothing moves a share ε of the probability from the right word to all words alike. It
    needs no one-hot vectors: -Σ q·log p = log Σ exp z - (1 - ε)·z_target - ε·mean(z).

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
    logits = ops.cast(logits, "float32")
    words = ops.cast(ops.not_equal(target, PADDING_ID), "float32")
    right = ops.squeeze(ops.take_along_axis(logits, ops.expand_dims(target, -1), axis=-1), -1)
    losses = ops.logsumexp(logits, axis=-1) - (1 - label_smoothing) * right
    if label_smoothing:
        losses = losses - label_smoothing * ops.mean(logits, axis=-1)
    return ops.sum(losses * words), ops.sum(words)


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
