"""Biases of attention scores that depend on the distance of query and key."""

import math
from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_choice, check_sizes
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import PartsMixin, build_part
from keras_transformer.settings import RELATIVE_POSITIONS

_BUCKETS = 32
_MAX_DISTANCE = 128  # from which on all distances share a bucket


@keras.saving.register_keras_serializable(package="keras_transformer")
class RelativeBias(PartsMixin, keras.layers.Layer):
    """The bias of attention scores that depends on the distance of query and key.

    "alibi" is a fixed penalty, the distance times a slope of each head. "t5" is learned: one number
    for each head and each of 32 buckets of distances, which are exact for small distances and grow
    logarithmically up to 128. Half of the buckets are for later positions, except in "t5_causal".
    In T5 all layers share one table; here each layer has its own.

    Shape letters: T query length, S key length, N heads.

    Args:
        h: number of attention heads, N.
        kind: "alibi", "t5" or "t5_causal".

    Raises:
        ValueError: if `h` is not a positive integer or `kind` is unknown.

    References:
        "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation"
        (Press et al., 2022), section 3;
        "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer" (Raffel
        et al., 2020), section 2.1.

    Example:
        >>> bias = kt.RelativeBias(h=2, kind="alibi")(np.array([[0, 1], [-1, 0]]))
        >>> ops.convert_to_numpy(bias[:, :, 0])
        array([[-0.    , -0.0625],
               [-0.0625, -0.    ]], dtype=float32)
    """

    def __init__(self, h: int, kind: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        [self.h] = check_sizes(h=h)
        check_choice(RELATIVE_POSITIONS, kind=kind)
        self.kind = kind
        if kind != "alibi":
            self.table = keras.layers.Embedding(
                _BUCKETS, self.h, dtype=self.dtype_policy, name="table"
            )

    def build(self, distances_shape: Shape) -> None:
        if self.kind != "alibi":
            build_part(self.table, distances_shape, dtype="int32")
        self.built = True

    def call(self, distances: Tensor) -> Tensor:
        """Computes the bias.

        Args:
            distances: int32, (T, S), the position of each key minus that of each query.

        Returns:
            (T, S, N).
        """
        if self.kind != "alibi":
            return self.table(_bucket(distances, self.kind == "t5"))
        lengths = ops.cast(ops.expand_dims(ops.abs(distances), -1), "float32")
        slopes = ops.convert_to_tensor(_slopes(self.h), "float32")
        return ops.cast(-lengths * slopes, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "h": self.h, "kind": self.kind}

    def compute_output_shape(self, distances_shape: Shape) -> Shape:
        return (*distances_shape, self.h)


def _slopes(h):
    """Returns a geometric sequence; between those of two powers of 2, every other of the longer."""
    power = 2 ** int(math.log2(h))
    slopes = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    return slopes + [2 ** (-4 * i / power) for i in range(1, 2 * (h - power), 2)]


def _bucket(distances, both_directions):
    """Returns the bucket of each distance, int32."""
    buckets, first = _BUCKETS, 0
    if both_directions:
        buckets //= 2
        first = buckets * ops.cast(distances > 0, "int32")
        distances = ops.abs(distances)
    else:
        distances = ops.maximum(-distances, 0)
    exact = buckets // 2
    ratio = ops.log(ops.cast(ops.maximum(distances, 1), "float32") / exact)
    large = exact + ops.cast(ratio / math.log(_MAX_DISTANCE / exact) * (buckets - exact), "int32")
    large = ops.minimum(large, buckets - 1)
    return first + ops.where(distances < exact, ops.cast(distances, "int32"), large)
