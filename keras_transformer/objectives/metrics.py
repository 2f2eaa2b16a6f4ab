"""How many words were right, and how much was to choose from."""

import keras
from keras import ops

from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer.objectives.losses import masked_cross_entropy, word_losses


def masked_accuracy(target, logits):
    """Counts the words that are predicted right: those than which none has a higher logit.

    Args:
        target: integer token ids, (B, T).
        logits: (B, T, V).

    Returns:
        Two float32 scalars: the number of right words, and of words.
    """
    words = ops.not_equal(target, PADDING_ID)
    ids = ops.expand_dims(ops.cast(target, "int32"), axis=-1)
    own = ops.squeeze(ops.take_along_axis(logits, ids, axis=-1), axis=-1)
    right = ops.logical_and(own >= ops.max(logits, axis=-1), words)
    return ops.sum(ops.cast(right, "float32")), ops.sum(ops.cast(words, "float32"))


def loss_and_totals(target, logits, label_smoothing=0.0):
    """What a step minimises, and what the training loop adds up over batches.

    Args:
        target: integer token ids, (B, T).
        logits: (B, T, V).
        label_smoothing: of the loss that is minimised.

    Returns:
        A float32 scalar, the sum of the smoothed cross entropies over the words; and float32 (3,):
        the sum of the plain cross entropies in nats, the number of words predicted right, and the
        number of words.
    """
    # Whether a word was predicted comes with its loss: another search for the greatest logit would
    # take a tenth of a small model's step.
    smoothed, plain, right = word_losses(target, logits, label_smoothing)
    words = ops.sum(ops.cast(ops.not_equal(target, PADDING_ID), "float32"))
    return ops.sum(smoothed), ops.stack([ops.sum(plain), ops.sum(right), words])


@keras.saving.register_keras_serializable(package="keras_transformer")
class MaskedAccuracy(keras.metrics.Mean):
    """`masked_accuracy` as a share of all words so far, for `model.compile`."""

    def __init__(self, name="masked_accuracy", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """(B, T) ids and (B, T, V) logits; `sample_weight` is not used."""
        right, words = masked_accuracy(ops.cast(y_true, "int32"), y_pred)
        super().update_state(right / ops.maximum(words, 1.0), sample_weight=words)


@keras.saving.register_keras_serializable(package="keras_transformer")
class Perplexity(keras.metrics.Mean):
    """The exponential of the cross entropy per word, for `model.compile`: the number of words among
    which a model that guesses as well would draw with equal chances."""

    def __init__(self, name="perplexity", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        """(B, T) ids and (B, T, V) logits; `sample_weight` is not used."""
        total, words = masked_cross_entropy(ops.cast(y_true, "int32"), y_pred)
        super().update_state(total / ops.maximum(words, 1.0), sample_weight=words)

    def result(self):
        return ops.exp(super().result())
