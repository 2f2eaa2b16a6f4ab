"""Positions as waves."""

import numpy as np
from keras import ops

from keras_transformer._utils.checks import check_even, check_positive
from keras_transformer._utils.deprecation import renamed_argument


@renamed_argument("n", "base")
def sinusoidal_encoding(length, output_dim, base=10000.0, start=0):
    """Encodes positions start … start + length - 1 as sines and cosines of growing wavelengths.

    Computed in float32 whatever the policy: in bfloat16 the angles are wrong past position 256.

    Args:
        length: integer T.
        output_dim: D, even. Entry 2i is sin(t / base^(2i/D)), entry 2i + 1 the cosine.
        base: base of the wavelengths, which grow from 2π to almost base·2π.
        start: the first position, an integer or an int32 scalar tensor; or int32 (B, 1), where the
            rows of a batch begin at positions of their own.

    Returns:
        float32, (T, D), or (B, T, D).

    Raises:
        ValueError: if `output_dim` is odd or `base` is not positive.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.5.
    """
    check_even(output_dim=output_dim)
    check_positive(base=base)
    frequencies = np.float32(base) ** (-np.arange(0, output_dim, 2, dtype="float32") / output_dim)
    positions = ops.cast(start + ops.arange(length), "float32")
    angles = ops.expand_dims(positions, -1) * frequencies  # (..., T, D / 2)
    waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.reshape(waves, (*ops.shape(positions), output_dim))
