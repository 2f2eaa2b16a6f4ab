"""Sinusoidal position encoding."""

import numpy as np
from keras import ops

from keras_transformer._utils.checks import check_even, check_positive
from keras_transformer._utils.types import Tensor


def sinusoidal_encoding(
    length: int, output_dim: int, base: float = 10000.0, start: Tensor | int = 0
) -> Tensor:
    """Computes the sinusoidal position encodings of consecutive positions.

    Entry 2i of position t is sin(t / base^(2i/D)), and entry 2i + 1 is the cosine. They are
    computed in float32 whatever the dtype policy, because bfloat16 cannot represent all integers
    above 256.

    Shape letters: B batch, T length, D = output_dim.

    Args:
        length: number of positions, T.
        output_dim: size of the encodings, D, even.
        base: base of the wavelengths, which grow from 2π to almost base·2π.
        start: first position, an integer or an int32 scalar; or int32, (B, 1), one per sequence.

    Returns:
        float32, (T, D); or (B, T, D) if `start` has one position per sequence.

    Raises:
        ValueError: if `output_dim` is odd or `base` is not positive.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), section 3.5.

    Example:
        >>> ops.convert_to_numpy(kt.sinusoidal_encoding(length=3, output_dim=4)).round(2)
        array([[ 0.  ,  1.  ,  0.  ,  1.  ],
               [ 0.84,  0.54,  0.01,  1.  ],
               [ 0.91, -0.42,  0.02,  1.  ]], dtype=float32)
    """
    check_even(output_dim=output_dim)
    check_positive(base=base)
    return waves_of(frequencies_of(output_dim, base), length, start)


def frequencies_of(size, base):
    """Returns the frequencies 1 / base^(2i/size), float32 (size / 2,), as a NumPy array."""
    return np.float32(base) ** (-np.arange(0, size, 2, dtype="float32") / size)


def waves_of(frequencies, length, start=0):
    """Returns the sine and the cosine of each frequency, adjacent; see `sinusoidal_encoding`."""
    positions = ops.cast(start + ops.arange(length), "float32")
    angles = ops.multiply(ops.expand_dims(positions, -1), frequencies)  # (..., T, D / 2)
    waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.reshape(waves, (*ops.shape(positions), 2 * len(frequencies)))
