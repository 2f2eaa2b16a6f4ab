"""The learning rate."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_positive, check_sizes


@keras.saving.register_keras_serializable(package="keras_transformer")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Grows linearly for `warmup_steps` updates, then falls with the root of their number.

    scale · d_model^-0.5 · min(t^-0.5, t · warmup_steps^-1.5), where t counts the updates from 1.
    The optimizer counts from 0, so t = step + 1: the first update already learns something.

    Args:
        d_model: size of the model's vectors.
        warmup_steps: number of updates until the peak.
        scale: factor on the whole curve.
        accumulation: number of batches whose gradients the optimizer adds up for one update: it
            asks for the rate of a batch.

    Raises:
        ValueError: if a size is not a positive integer or `scale` is not positive.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 3.
    """

    def __init__(self, d_model, warmup_steps=4000, scale=1.0, accumulation=1):
        check_sizes(d_model=d_model, warmup_steps=warmup_steps, accumulation=accumulation)
        check_positive(scale=scale)
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.scale = scale
        self.accumulation = accumulation

    def __call__(self, step):
        """The learning rate after `step` batches, a float32 scalar."""
        updates = ops.cast(step, "float32")
        if self.accumulation > 1:
            updates = ops.floor(updates / self.accumulation)
        t = updates + 1.0
        warm_up = t * self.warmup_steps**-1.5
        return self.scale * self.d_model**-0.5 * ops.minimum(ops.rsqrt(t), warm_up)

    def get_config(self):
        return {
            "d_model": self.d_model,
            "warmup_steps": self.warmup_steps,
            "scale": self.scale,
            "accumulation": self.accumulation,
        }


def warmup_cosine(highest, steps):
    """Grows linearly for a tenth of the updates, then falls to 0 along a cosine.

    Args:
        highest: the learning rate at the peak.
        steps: number of updates.

    Returns:
        A `keras.optimizers.schedules.CosineDecay`.

    References:
        "SGDR: Stochastic Gradient Descent with Warm Restarts" (Loshchilov and Hutter, 2017),
        equation 5.
    """
    warm = max(1, steps // 10)
    rest = max(1, steps - warm)
    options = {"warmup_target": highest, "warmup_steps": warm}
    return keras.optimizers.schedules.CosineDecay(0.0, rest, **options)
