"""Cross entropy over the tokens that are not padding."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_rate
from keras_transformer._utils.devices import jax_has_cuda
from keras_transformer._utils.special_tokens import PADDING_ID
from keras_transformer._utils.types import Tensor
from keras_transformer.backends import backend_module


def masked_cross_entropy(
    target: Tensor, logits: Tensor, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Computes the total cross entropy of the tokens that are not padding.

    Label smoothing moves the probability ε from the target token to the whole vocabulary, evenly.

    Args:
        target: integer token ids, (B, T).
        logits: (B, T, V), of any float type; computed in float32.
        label_smoothing: ε, in [0, 1).

    Returns:
        Two float32 scalars: the sum of the losses in nats, and the number of tokens. The mean over
        several batches is the quotient of their totals.

    References:
        "Rethinking the Inception Architecture" (Szegedy et al., 2016), section 7.
    """
    smoothed, _, _ = token_losses(target, logits, label_smoothing)
    return ops.sum(smoothed), ops.sum(_token_mask(target))


def token_losses(target, logits, label_smoothing=0.0):
    """Computes the cross entropy of each token, with and without label smoothing, and the hits.

    One-hot vectors are avoided: -Σ q·log p = log Σ exp z - (1 - ε)·z_target - ε·mean(z). The
    custom gradient, softmax(z) - q, halves the step time of a small model on TensorFlow, whose own
    gradient reads the logits, the largest tensor of a step, several times more. On JAX, it keeps
    the logits in their own type and their log-sums, not the softmax.

    Args:
        target: integer token ids, (B, T).
        logits: (B, T, V), of any float type; computed in float32.
        label_smoothing: ε, in [0, 1).

    Returns:
        Three float32 tensors (B, T), 0 for padding: the smoothed losses in nats, the plain losses
        in nats, and 1 where no other token has a higher logit than the target. Gradients flow only
        through the first.
    """
    losses = _make_loss_function(ops.cast(target, "int32"), label_smoothing)
    return tuple(ops.unstack(losses(logits) * _token_mask(target), 3))


def _token_mask(target):
    """Returns a float32 mask (B, T): 1 for tokens, 0 for padding."""
    return ops.cast(ops.not_equal(target, PADDING_ID), "float32")


def _make_loss_function(target, label_smoothing):
    """Returns a function from logits to the results of `token_losses`, stacked to (3, B, T)."""
    on_cuda = jax_has_cuda()

    @ops.custom_gradient
    def losses(logits):
        wide = ops.cast(logits, "float32")
        kept = ops.softmax(wide) if _keeps_softmax() else None
        if on_cuda:  # one pass instead of three over the largest tensor of a step
            log_sum, highest, mean = backend_module().reduce_logits(wide)
        else:
            log_sum, highest = _log_sum_and_maximum(wide, kept)
            mean = ops.mean(wide, axis=-1, keepdims=True) if label_smoothing else 0.0
        target_logits = ops.take_along_axis(wide, ops.expand_dims(target, -1), axis=-1)
        plain = log_sum - target_logits
        smoothed = plain
        if label_smoothing:  # 0 times an infinite mean would be NaN
            smoothed = plain + label_smoothing * (target_logits - mean)
        hits = ops.cast(target_logits >= highest, "float32")
        stacked = ops.squeeze(ops.stack([smoothed, plain, hits]), axis=-1)

        def gradient(*arguments, upstream=None):  # PyTorch passes `upstream` by name
            upstream = arguments[-1] if upstream is None else upstream
            upstream = ops.expand_dims(upstream[0], -1)
            share = label_smoothing / logits.shape[-1]  # probability of each token
            again = ops.cast(logits, "float32")  # `wide` would be kept until here
            probabilities = ops.exp(again - log_sum) if kept is None else kept
            rest = 1 - label_smoothing  # probability of the target beside its share
            if on_cuda:  # the gradients can replace the logits: half the memory
                ids = ops.arange(logits.shape[-1], dtype="int32")
                is_target = ops.cast(ops.equal(ids, ops.expand_dims(target, -1)), "float32")
                gradients = (probabilities - share - rest * is_target) * upstream
                return ops.cast(gradients, logits.dtype)
            # A CPU would take up to a third longer for this. Cast first, because setting the values
            # of the targets copies the whole tensor.
            at_target = ops.exp(-plain) - share - rest
            gradients = ops.cast((probabilities - share) * upstream, logits.dtype)
            return _set_at_target(gradients, target, ops.cast(at_target * upstream, logits.dtype))

        return stacked, gradient

    return losses


def _keeps_softmax():
    # XLA fuses the exponentials into the passes over the logits: loss and gradient take 9% less
    # time and two thirds of the memory (JAX, CPU, float32, V = 32,000). TensorFlow takes 10% more,
    # and a training step on PyTorch 6% (small preset, bfloat16, CPU).
    return keras.config.backend() != "jax"


def _log_sum_and_maximum(logits, softmax):
    """Returns log Σ exp z and the maximum over the vocabulary, (B, T, 1) each."""
    highest = ops.max(logits, axis=-1, keepdims=True)
    if softmax is None:
        return ops.logsumexp(logits, axis=-1, keepdims=True), highest
    # max(softmax) = exp(highest) / Σ exp z is at least 1 / V, so its logarithm is finite.
    return highest - ops.log(ops.max(softmax, axis=-1, keepdims=True)), highest


def _set_at_target(x, target, values):
    """Returns `x` (B, T, V) with `values` (B, T, 1) at the ids of `target` (B, T)."""
    rows = ops.reshape(x, (-1, x.shape[-1]))
    row = ops.arange(ops.shape(rows)[0], dtype="int32")
    indices = ops.stack([row, ops.reshape(target, (-1,))], axis=1)
    rows = ops.scatter_update(rows, indices, ops.reshape(values, (-1,)))
    return ops.reshape(rows, ops.shape(x))


@keras.saving.register_keras_serializable(package="keras_transformer")
class MaskedCrossEntropy(keras.losses.Loss):
    """Mean cross entropy of the tokens that are not padding, for `model.compile`.

    Args:
        label_smoothing: ε, in [0, 1), see `masked_cross_entropy`.

    Raises:
        ValueError: if `label_smoothing` is not in [0, 1).

    Example:
        >>> loss = kt.MaskedCrossEntropy()
        >>> target = np.array([[4, 2, 0]])  # two tokens and padding
        >>> round(float(loss(target, np.zeros((1, 3, 5)))), 3)  # ln 5
        1.609
    """

    def __init__(
        self, label_smoothing: float = 0.0, name: str = "masked_cross_entropy", **kwargs: Any
    ) -> None:
        # `call` returns the mean over tokens already, so there is nothing left to reduce.
        super().__init__(name=name, **{"reduction": "sum", **kwargs})
        check_rate(label_smoothing=label_smoothing)
        self.label_smoothing = label_smoothing

    def __call__(
        self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Computes the mean loss of (B, T) ids and (B, T, V) logits; without sample weights."""
        if sample_weight is not None:
            raise ValueError("This loss counts every token alike: leave `sample_weight` out.")
        # Bypasses the base class, which would weight the mean again by the Keras mask that
        # recurrent layers attach to their outputs.
        return self.call(y_true, y_pred)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Computes the mean loss, a float32 scalar, of (B, T) ids and (B, T, V) logits."""
        target = ops.cast(y_true, "int32")
        total, count = masked_cross_entropy(target, y_pred, self.label_smoothing)
        return total / ops.maximum(count, 1.0)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
