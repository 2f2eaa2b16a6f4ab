"""Accuracy and perplexity over the tokens that are not padding."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer._utils.types import Tensor
from keras_transformer.objectives.losses import masked_cross_entropy, token_losses


def masked_accuracy(target, logits):
    """Counts the correctly predicted tokens, without padding.

    A token is predicted correctly if no other token has a higher logit.

    Args:
        target: integer token ids, (B, T).
        logits: (B, T, V).

    Returns:
        Two float32 scalars: the number of correct tokens, and of all tokens.
    """
    is_token = ops.not_equal(target, PADDING_ID)
    ids = ops.expand_dims(ops.cast(target, "int32"), axis=-1)
    target_logits = ops.squeeze(ops.take_along_axis(logits, ids, axis=-1), axis=-1)
    correct = ops.logical_and(target_logits >= ops.max(logits, axis=-1), is_token)
    return ops.sum(ops.cast(correct, "float32")), ops.sum(ops.cast(is_token, "float32"))


def loss_and_totals(target, logits, label_smoothing=0.0, loss=None):
    """Computes the loss to minimize and the totals that the training loop adds up over batches.

    Args:
        target: integer token ids, (B, T).
        logits: (B, T, V).
        label_smoothing: label smoothing of the minimized loss; the totals are without it.
        loss: function of the target and the float32 logits to minimize instead: the losses of the
            tokens, (B, T), or their mean; None for the smoothed cross entropy.

    Returns:
        A float32 scalar, the sum of the losses to minimize over the tokens; and float32 (3,):
        the sum of the plain cross entropies in nats, the number of correctly predicted tokens, and
        the number of tokens.
    """
    # The hits come with the losses, because a second search for the highest logit takes a tenth of
    # the step time of a small model.
    smoothed, plain, hits = token_losses(target, logits, label_smoothing)
    is_token = ops.not_equal(target, PADDING_ID)
    count = ops.sum(ops.cast(is_token, "float32"))
    if loss is not None:
        losses = ops.cast(loss(target, ops.cast(logits, "float32")), "float32")
        if len(losses.shape) not in (0, 2):
            raise ValueError(
                "`loss` must return the loss of each token, (B, T), or their mean, a scalar. "
                f"Received: losses of shape {tuple(losses.shape)}"
            )
        smoothed = ops.where(is_token, losses, 0.0)
    return ops.sum(smoothed), ops.stack([ops.sum(plain), ops.sum(hits), count])


@keras.saving.register_keras_serializable(package="keras_transformer")
class MaskedAccuracy(keras.metrics.Mean):
    """Share of correctly predicted tokens, without padding, for `model.compile`.

    Example:
        >>> metric = kt.MaskedAccuracy()
        >>> target = np.array([[1, 2, 0]])  # two tokens and padding
        >>> metric.update_state(target, ops.one_hot([[1, 3, 0]], 4))
        >>> float(metric.result())
        0.5
    """

    def __init__(self, name: str = "masked_accuracy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def update_state(
        self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> None:
        """Adds a batch of (B, T) ids and (B, T, V) logits; ignores `sample_weight`."""
        correct, count = masked_accuracy(ops.cast(y_true, "int32"), y_pred)
        super().update_state(correct / ops.maximum(count, 1.0), sample_weight=count)


@keras.saving.register_keras_serializable(package="keras_transformer")
class Perplexity(keras.metrics.Mean):
    """Exponential of the mean cross entropy per token, without padding, for `model.compile`.

    A perplexity of k means that the model is as uncertain as a uniform choice among k tokens.

    Example:
        >>> metric = kt.Perplexity()
        >>> metric.update_state(np.array([[4, 2, 0]]), np.zeros((1, 3, 5)))
        >>> round(float(metric.result()), 3)
        5.0
    """

    def __init__(self, name: str = "perplexity", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def update_state(
        self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> None:
        """Adds a batch of (B, T) ids and (B, T, V) logits; ignores `sample_weight`."""
        total, count = masked_cross_entropy(ops.cast(y_true, "int32"), y_pred)
        super().update_state(total / ops.maximum(count, 1.0), sample_weight=count)

    def result(self) -> Tensor:
        return ops.exp(super().result())
