"""Image batches with data augmentation."""

from typing import Any

import keras
import numpy as np


class AugmentedImages(keras.utils.PyDataset):
    """Batches `(images, labels)` of images that are randomly rotated, scaled, sheared and shifted.

    The transformations are drawn anew for every epoch and depend on `seed` and the epoch only. The
    areas that they uncover are black. Pass the dataset to `model.fit` with `shuffle=False`, because
    it shuffles itself.

    Args:
        images: float32, (images, H, W, C).
        labels: integers, (images,).
        batch_size: number of images per batch, B. An epoch omits the images that do not fill a
            batch, a different selection each time.
        seed: an integer, the seed of the order and the transformations.
        rotation: maximum angle of the rotation, in degrees.
        scale: maximum change of height and width, as a share of them.
        shear: maximum horizontal shear, in columns per row.
        shift: maximum shift along each axis, in pixels.

    Raises:
        ValueError: if there are fewer images than `batch_size`, `batch_size` is not positive, or
            the numbers of images and labels differ.

    Example:
        >>> images, labels = np.ones((10, 28, 28, 1), "float32"), np.arange(10)
        >>> batches = kt.AugmentedImages(images, labels, batch_size=4, seed=0)
        >>> batch_images, batch_labels = batches[0]
        >>> len(batches), batch_images.shape, batch_labels.shape
        (2, (4, 28, 28, 1), (4,))
    """

    def __init__(
        self,
        images: np.ndarray,
        labels: np.ndarray,
        batch_size: int,
        seed: int,
        rotation: float = 10.0,
        scale: float = 0.1,
        shear: float = 0.1,
        shift: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if len(images) != len(labels) or not 1 <= batch_size <= len(images):
            raise ValueError(
                "Give one label per image and a `batch_size` from 1 to the number of images. "
                f"Received: {len(images)} images, {len(labels)} labels, batch_size={batch_size}"
            )
        self.images = images
        self.labels = labels
        self.batch_size = batch_size
        self.seed = seed
        self.rotation = rotation
        self.scale = scale
        self.shear = shear
        self.shift = shift
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Starts an epoch, counted from 0; its order depends on `seed` and `epoch` only."""
        self.epoch = epoch
        self._order = np.random.default_rng((self.seed, epoch)).permutation(len(self.images))

    def on_epoch_end(self) -> None:
        self.set_epoch(self.epoch + 1)

    def __len__(self) -> int:
        return len(self.images) // self.batch_size

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        rows = self._order[index * self.batch_size : (index + 1) * self.batch_size]
        random = np.random.default_rng((self.seed, self.epoch, index))
        matrices, shifts = self._draw(random, len(rows))
        return transform_images(self.images[rows], matrices, shifts), self.labels[rows]

    def _draw(self, random, count):
        """Draws `count` matrices (count, 2, 2) and shifts (count, 2)."""
        angle = np.radians(random.uniform(-self.rotation, self.rotation, count))
        shear = random.uniform(-self.shear, self.shear, count)
        height, width = 1 + random.uniform(-self.scale, self.scale, (2, count))
        zero = np.zeros(count)
        rotation = _matrices(np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle))
        matrices = rotation @ _matrices(height, zero, shear, width)
        return matrices, random.uniform(-self.shift, self.shift, (count, 2))


def transform_images(images, matrices, shifts):
    """Applies an affine transformation to each image.

    The pixel at `position` gets the value at matrix · (position - center) + center + shift.

    Args:
        images: float32, (B, H, W, C).
        matrices: (B, 2, 2), for positions as (row, column).
        shifts: (B, 2), in pixels.

    Returns:
        The transformed images, float32 (B, H, W, C), with bilinear interpolation; black where the
        position is outside the image.
    """
    batch, height, width, _ = images.shape
    center = np.array([height - 1, width - 1]) / 2
    positions = np.indices((height, width)).reshape(2, -1).T - center
    positions = positions @ matrices.transpose(0, 2, 1) + center + shifts[:, None]  # (B, HW, 2)
    # Positions outside the image are clipped to a black border, one pixel wide.
    positions = np.clip(positions + 1, 0, [height + 1, width + 1])
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2), (0, 0)))
    corner = positions.astype("int32")
    y, x = np.moveaxis((positions - corner)[..., None].astype("float32"), 2, 0)
    row, column = np.moveaxis(corner, 2, 0)
    image = np.arange(batch)[:, None]
    upper = padded[image, row, column] * (1 - x) + padded[image, row, column + 1] * x
    lower = padded[image, row + 1, column] * (1 - x) + padded[image, row + 1, column + 1] * x
    return (upper * (1 - y) + lower * y).reshape(images.shape)


def _matrices(a, b, c, d):
    """Stacks four arrays (B,) to matrices [[a, b], [c, d]], (B, 2, 2)."""
    return np.stack([np.stack([a, b], axis=-1), np.stack([c, d], axis=-1)], axis=-2)
