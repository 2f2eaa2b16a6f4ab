"""The learning rate."""

import keras
from keras import ops

from keras_transformer.checks import check_sizes


@keras.saving.register_keras_serializable(package="keras_transformer")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Grows linearly for `warmup_steps` updates, then falls with the root of their number.

    scale · d_model^-0.5 · min(t^-0.5, t · warmup_steps^-1.5), where t counts the updates from 1.
    The optimizer counts from 0, so t = step + 1: the first update already learns something.

    Args:
        d_model: size of the model's vectors.
        warmup_steps: number of updates until the peak.
        scale: factor on the whole curve.

    Raises:
        ValueError: if a size is not a positive integer or `scale` is not positive.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 3.
    """

    def __init__(self, d_model, warmup_steps=4000, scale=1.0):
        check_sizes(d_model=d_model, warmup_steps=warmup_steps)
        if not scale > 0:
            raise ValueError(f"`scale` must be positive. Received: scale={scale!r}")
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.scale = scale

    def __call__(self, step):
        """The learning rate of the update after `step` updates, a float32 scalar."""
        t = ops.cast(step, "float32") + 1.0
        warm_up = t * self.warmup_steps**-1.5
        return self.scale * self.d_model**-0.5 * ops.minimum(ops.rsqrt(t), warm_up)

    def get_config(self):
        return {
            "d_model": self.d_model,
            "warmup_steps": self.warmup_steps,
            "scale": self.scale,
        }
