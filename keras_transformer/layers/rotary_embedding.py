"""Rotary position embeddings."""

import math

import numpy as np
from keras import ops

from keras_transformer._utils.checks import check_even, check_positive, check_rotary_scaling
from keras_transformer._utils.types import Tensor
from keras_transformer.layers.sinusoidal_encoding import frequencies_of, waves_of


def rotary_embedding(
    x: Tensor,
    base: float = 10000.0,
    start: Tensor | int = 0,
    scaling: tuple[float, ...] | None = None,
) -> Tensor:
    """Rotates vectors by angles that grow with their position.

    Entries i and i + H/2 of the vector at position t are the coordinates of a point, which is
    rotated by t / base^(2i/H). So the product of a rotated query and a rotated key depends on their
    contents and on the distance between their positions. The angles are those of
    `sinusoidal_encoding`, computed in float32 whatever the dtype.

    Shape letters: B batch, N heads, T length, H size of a head.

    Args:
        x: queries or keys, floats, (B, N, T, H) or (..., T, H). H is even.
        base: base of the wavelengths, which grow from 2π to almost base·2π.
        start: position of the first vector, an integer or an int32 scalar.
        scaling: numbers that stretch the positions, so that a model reads longer texts than it was
            trained on; None for none. `(factor,)` divides all angles by a factor. `(factor,
            low, high, length)` divides only those whose wave is longer than length / low, and
            leaves those shorter than length / high; in between, it interpolates.

    Returns:
        The shape and dtype of `x`.

    Raises:
        ValueError: if H is odd, `base` is not positive, or `scaling` is not one or four positive
            numbers.

    References:
        "RoFormer: Enhanced Transformer with Rotary Position Embedding" (Su et al., 2021), section
        3.2. The paper pairs the entries 2i and 2i + 1; halves, which need no interleaving, are the
        same up to the order of the entries. "Extending Context Window of Large Language Models via
        Position Interpolation" (Chen et al., 2023), equation 4 (scaling by a factor); "The Llama 3
        Herd of Models" (Grattafiori et al., 2024), section 3.2 (scaling by four numbers).

    Example:
        >>> ops.convert_to_numpy(kt.rotary_embedding(np.ones((3, 2), "float32"))).round(2)
        array([[ 1.  ,  1.  ],
               [-0.3 ,  1.38],
               [-1.33,  0.49]], dtype=float32)
    """
    size = x.shape[-1]
    check_even(head_size=size)
    waves = waves_of(rotary_frequencies(size, base, scaling), ops.shape(x)[-2], start)  # (T, H)
    sines, cosines = (ops.cast(waves[:, i::2], x.dtype) for i in (0, 1))  # (T, H / 2)
    first, second = ops.split(x, 2, axis=-1)
    rotated = (first * cosines - second * sines, first * sines + second * cosines)
    return ops.concatenate(rotated, axis=-1)


def rotary_frequencies(size, base, scaling=None):
    """Returns the angle between neighboring positions for each pair of entries, float32 (H / 2,).

    Args:
        size: H.
        base, scaling: see `rotary_embedding`.
    """
    check_positive(base=base)
    frequencies = frequencies_of(size, base)
    if scaling is None:
        return frequencies
    factor, *limits = check_rotary_scaling(scaling)
    if not limits:
        return frequencies / np.float32(factor)
    low, high, length = limits
    turns = length * frequencies / (2 * math.pi)  # within the length
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return ((1 - kept) * frequencies / factor + kept * frequencies).astype("float32")
