"""Rotary position embeddings."""

from keras import ops

from keras_transformer._utils.checks import check_even
from keras_transformer._utils.types import Tensor
from keras_transformer.layers.sinusoidal_encoding import sinusoidal_encoding


def rotary_embedding(x: Tensor, base: float = 10000.0, start: Tensor | int = 0) -> Tensor:
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

    Returns:
        The shape and dtype of `x`.

    Raises:
        ValueError: if H is odd or `base` is not positive.

    References:
        "RoFormer: Enhanced Transformer with Rotary Position Embedding" (Su et al., 2021), section
        3.2. The paper pairs the entries 2i and 2i + 1; halves, which need no interleaving, are the
        same up to the order of the entries.

    Example:
        >>> ops.convert_to_numpy(kt.rotary_embedding(np.ones((3, 2), "float32"))).round(2)
        array([[ 1.  ,  1.  ],
               [-0.3 ,  1.38],
               [-1.33,  0.49]], dtype=float32)
    """
    size = x.shape[-1]
    check_even(head_size=size)
    waves = sinusoidal_encoding(ops.shape(x)[-2], size, base, start)  # (T, H)
    sines, cosines = (ops.cast(waves[:, i::2], x.dtype) for i in (0, 1))  # (T, H / 2)
    first, second = ops.split(x, 2, axis=-1)
    rotated = (first * cosines - second * sines, first * sines + second * cosines)
    return ops.concatenate(rotated, axis=-1)
