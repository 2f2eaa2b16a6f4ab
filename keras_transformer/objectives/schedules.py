"""Learning-rate schedules."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_positive, check_sizes, given
from keras_transformer._utils.types import Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Learning-rate schedule with linear warm-up and inverse-square-root or linear decay.

    The rate of update t is scale · d_model^-0.5 · min(t^-0.5, t · warmup_steps^-1.5), counted from
    1. The optimizer counts from 0, so t = step + 1 and the first update has a rate above 0.

    With `total_steps`, the rate falls from the same peak in a straight line to 0, which it would
    reach in the update after the last one.

    Args:
        d_model: model size.
        warmup_steps: number of updates until the peak, where the rate is
            scale · (d_model · warmup_steps)^-0.5.
        scale: factor on the learning rate.
        accumulation: number of batches per update, the optimizer's `gradient_accumulation_steps`:
            an optimizer that accumulates gradients counts batches, not updates.
        total_steps: number of updates of the whole training, for linear decay; None for
            inverse-square-root decay.

    Raises:
        ValueError: if a size is not a positive integer, `scale` is not positive, or
            `total_steps` is less than `warmup_steps`.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), equation 3. Linear decay: "Budgeted
        Training: Rethinking Deep Neural Network Training Under Resource Constraints" (Li et al.,
        2020).

    Example:
        >>> schedule = kt.WarmupSchedule(d_model=4, warmup_steps=16)
        >>> [round(float(schedule(step)), 4) for step in (0, 15, 63)]
        [0.0078, 0.125, 0.0625]
        >>> schedule = kt.WarmupSchedule(d_model=4, warmup_steps=16, total_steps=63)
        >>> [round(float(schedule(step)), 4) for step in (0, 15, 63)]
        [0.0078, 0.125, 0.0]
    """

    def __init__(
        self,
        d_model: int,
        warmup_steps: int = 4000,
        scale: float = 1.0,
        accumulation: int = 1,
        total_steps: int | None = None,
    ) -> None:
        sizes = {"d_model": d_model, "warmup_steps": warmup_steps, "accumulation": accumulation}
        check_sizes(**sizes, **given(total_steps=total_steps))
        check_positive(scale=scale)
        if total_steps is not None and total_steps < warmup_steps:
            raise ValueError(
                "`warmup_steps` must be at most `total_steps`. Received: "
                f"warmup_steps={warmup_steps}, total_steps={total_steps}"
            )
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.scale = scale
        self.accumulation = accumulation
        self.total_steps = total_steps

    def __call__(self, step: Tensor | int) -> Tensor:
        """Returns the learning rate after `step` batches, a float32 scalar."""
        updates = ops.cast(step, "float32")
        if self.accumulation > 1:
            updates = ops.floor(updates / self.accumulation)
        t = updates + 1.0
        warm_up = t * self.warmup_steps**-1.5
        return self.scale * self.d_model**-0.5 * ops.minimum(self._decay(t), warm_up)

    def _decay(self, t):
        if self.total_steps is None:
            return ops.rsqrt(t)
        end = self.total_steps + 1
        left = ops.maximum(end - t, 0.0) / (end - self.warmup_steps)  # 1 at the peak
        return self.warmup_steps**-0.5 * left

    def get_config(self) -> dict[str, Any]:
        return {
            "d_model": self.d_model,
            "warmup_steps": self.warmup_steps,
            "scale": self.scale,
            "accumulation": self.accumulation,
            "total_steps": self.total_steps,
        }


def warmup_cosine(peak: float, steps: int) -> keras.optimizers.schedules.CosineDecay:
    """Builds a learning-rate schedule with linear warm-up and cosine decay to 0.

    Args:
        peak: learning rate at the peak.
        steps: total number of updates; the first tenth of them is the warm-up.

    Returns:
        A `keras.optimizers.schedules.CosineDecay`.

    References:
        "SGDR: Stochastic Gradient Descent with Warm Restarts" (Loshchilov and Hutter, 2017),
        equation 5.

    Example:
        >>> schedule = kt.warmup_cosine(0.4, steps=100)
        >>> [round(float(schedule(step)), 2) for step in (0, 5, 10, 55, 100)]
        [0.0, 0.2, 0.4, 0.2, 0.0]
    """
    warm = max(1, steps // 10)
    rest = max(1, steps - warm)
    options = {"warmup_target": peak, "warmup_steps": warm}
    return keras.optimizers.schedules.CosineDecay(0.0, rest, **options)
