"""Images as vectors that know their positions."""

import keras
from keras import ops

from keras_transformer._utils.checks import check_sizes


@keras.saving.register_keras_serializable(package="keras_transformer")
class PatchEmbedding(keras.layers.Layer):
    """Cuts an image into square patches and makes a vector of each.

    A learned class token comes first, and every token has a learned position added.

    Shape letters: B batch, H height, W width, C channels, P = patch_size, D = output_dim, T number
    of tokens, 1 + HW / P².

    Args:
        image_size: (H, W), or one integer for both.
        patch_size: side of a patch, P. It divides both sides of the image.
        output_dim: size of the vectors, D.

    Raises:
        ValueError: if a size is not a positive integer or `image_size` is no multiple of
            `patch_size`; if an image has another size.

    References:
        "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), equation 1.
    """

    def __init__(self, image_size, patch_size, output_dim, **kwargs):
        super().__init__(**kwargs)
        check_sizes(patch_size=patch_size, output_dim=output_dim)
        self.image_size = _pair(image_size)
        self.patch_size = patch_size
        self.output_dim = output_dim
        self.grid = self._grid_of(self.image_size)  # patches above and beside each other
        # A convolution whose steps are as long as its filters reads each patch once.
        self.projection = keras.layers.Conv2D(
            output_dim, patch_size, patch_size, dtype=self.dtype_policy, name="projection"
        )

    def _grid_of(self, image_size):
        for side in image_size:
            check_sizes(image_size=side)
        if any(side % self.patch_size for side in image_size):
            raise ValueError(
                "`image_size` must be a multiple of `patch_size`. "
                f"Received: image_size={image_size}, patch_size={self.patch_size}"
            )
        return tuple(side // self.patch_size for side in image_size)

    def build(self, images_shape):
        self.projection.build(images_shape)
        self.class_token = self.add_weight((1, self.output_dim), "zeros", name="class_token")
        shape = (1 + self.grid[0] * self.grid[1], self.output_dim)
        spread = keras.initializers.TruncatedNormal(stddev=0.02)
        self.positions = self.add_weight(shape, spread, name="positions")
        self.built = True

    def call(self, images):
        """(B, H, W, C) -> (B, T, D), row by row."""
        if any(s not in (None, t) for s, t in zip(images.shape[1:3], self.image_size, strict=True)):
            raise ValueError(
                f"The images must be of the size {self.image_size}. "
                f"Received: {tuple(images.shape[1:3])}"
            )
        x = self.projection(images)
        batch = ops.shape(x)[0]
        x = ops.reshape(x, (batch, self.grid[0] * self.grid[1], self.output_dim))  # (B, T - 1, D)
        token = ops.cast(self.class_token, x.dtype)
        tokens = ops.broadcast_to(token, (batch, 1, self.output_dim))
        return ops.concatenate([tokens, x], axis=1) + ops.cast(self.positions, x.dtype)

    def positions_for(self, image_size):
        """The positions for images of another size.

        Those of the patches are interpolated as the image that they are, linearly along both
        sides; that of the class token stays.

        Args:
            image_size: the other (H, W), or one integer for both.

        Returns:
            float32, (other T, D).

        Raises:
            ValueError: if the size is no multiple of `patch_size`.

        References:
            "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), section 3.2.
        """
        other = self._grid_of(_pair(image_size))
        positions = ops.convert_to_tensor(self.positions)
        image = ops.reshape(positions[1:], (*self.grid, self.output_dim))
        image = ops.image.resize(image, other, interpolation="bilinear")
        return ops.concatenate([positions[:1], ops.reshape(image, (-1, self.output_dim))], axis=0)

    def get_config(self):
        sizes = {"patch_size": self.patch_size, "output_dim": self.output_dim}
        return {**super().get_config(), "image_size": self.image_size, **sizes}

    def compute_output_shape(self, images_shape):
        return (images_shape[0], 1 + self.grid[0] * self.grid[1], self.output_dim)


def _pair(size):
    return tuple(size) if isinstance(size, (tuple, list)) else (size, size)
