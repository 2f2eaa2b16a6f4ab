"""Embedding of image patches."""

from typing import Any

import keras
from keras import ops

from keras_transformer._utils.checks import check_axes, check_sizes
from keras_transformer._utils.types import Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class PatchEmbedding(keras.layers.Layer):
    """Embeds square image patches, with a class token and learned positions.

    The class token comes first. A learned position embedding is added to every token.

    Shape letters: B batch, H height, W width, C channels, P patch size, D = output_dim, T = number
    of tokens, 1 + HW / P².

    Args:
        image_size: (H, W), or one integer for both.
        patch_size: side of a patch, P. It must divide both sides of the image.
        output_dim: size of the embeddings, D.

    Raises:
        ValueError: if a size is not a positive integer, `image_size` is not a multiple of
            `patch_size`, or the images of a call have another size.

    References:
        "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), equation 1.

    Example:
        >>> embedding = kt.PatchEmbedding(image_size=32, patch_size=8, output_dim=16)
        >>> ops.shape(embedding(np.zeros((2, 32, 32, 3))))
        (2, 17, 16)
    """

    def __init__(
        self, image_size: int | tuple[int, int], patch_size: int, output_dim: int, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        sizes = check_sizes(patch_size=patch_size, output_dim=output_dim)
        self.patch_size, self.output_dim = sizes
        self.image_size = tuple(check_sizes(image_size=x)[0] for x in _pair(image_size))
        self.grid = self._patch_grid(self.image_size)  # number of rows and columns of patches
        # A convolution whose stride equals its kernel size reads each patch once.
        self.projection = keras.layers.Conv2D(
            self.output_dim,
            self.patch_size,
            self.patch_size,
            dtype=self.dtype_policy,
            name="projection",
        )

    def _patch_grid(self, image_size):
        if any(side % self.patch_size for side in image_size):
            raise ValueError(
                "`image_size` must be a multiple of `patch_size`. "
                f"Received: image_size={image_size}, patch_size={self.patch_size}"
            )
        return tuple(side // self.patch_size for side in image_size)

    def build(self, images_shape: Shape) -> None:
        check_axes(4, "(B, height, width, channels)", images=images_shape)
        self.projection.build(images_shape)
        self.class_token = self.add_weight((1, self.output_dim), "zeros", name="class_token")
        shape = (1 + self.grid[0] * self.grid[1], self.output_dim)
        initializer = keras.initializers.TruncatedNormal(stddev=0.02)
        self.positions = self.add_weight(shape, initializer, name="positions")
        self.built = True

    def call(self, images: Tensor) -> Tensor:
        """Embeds the patches of images.

        Args:
            images: float, (B, H, W, C).

        Returns:
            The class token and the patches in row-major order, (B, T, D).
        """
        if any(s not in (None, t) for s, t in zip(images.shape[1:3], self.image_size, strict=True)):
            raise ValueError(
                f"The images must have the size {self.image_size}. "
                f"Received: {tuple(images.shape[1:3])}"
            )
        x = self.projection(images)
        batch = ops.shape(x)[0]
        x = ops.reshape(x, (batch, self.grid[0] * self.grid[1], self.output_dim))  # (B, T - 1, D)
        token = ops.cast(self.class_token, x.dtype)
        tokens = ops.broadcast_to(token, (batch, 1, self.output_dim))
        return ops.concatenate([tokens, x], axis=1) + ops.cast(self.positions, x.dtype)

    def positions_for(self, image_size: int | tuple[int, int]) -> Tensor:
        """Returns the position embeddings interpolated to another image size.

        The interpolation of the patch positions is bilinear. The position of the class token does
        not change.

        Args:
            image_size: the other (H, W), or one integer for both.

        Returns:
            float32, (T of the other size, D).

        Raises:
            ValueError: if `image_size` is not a multiple of `patch_size`.

        References:
            "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), section 3.2.

        Example:
            >>> embedding = kt.PatchEmbedding(image_size=32, patch_size=8, output_dim=16)
            >>> embedding.build((None, 32, 32, 3))
            >>> ops.shape(embedding.positions_for(48))
            (37, 16)
        """
        grid = self._patch_grid(_pair(image_size))
        positions = ops.convert_to_tensor(self.positions)
        image = ops.reshape(positions[1:], (*self.grid, self.output_dim))
        image = ops.image.resize(image, grid, interpolation="bilinear")
        return ops.concatenate([positions[:1], ops.reshape(image, (-1, self.output_dim))], axis=0)

    def get_config(self) -> dict[str, Any]:
        sizes = {"patch_size": self.patch_size, "output_dim": self.output_dim}
        return {**super().get_config(), "image_size": self.image_size, **sizes}

    def compute_output_shape(self, images_shape: Shape) -> Shape:
        return (images_shape[0], 1 + self.grid[0] * self.grid[1], self.output_dim)


def _pair(size):
    return tuple(size) if isinstance(size, (tuple, list)) else (size, size)
