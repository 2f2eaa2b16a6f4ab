"""Batches of images, each time a little different."""

import keras
import numpy as np


class AugmentedImages(keras.utils.PyDataset):
    """Batches `(images, labels)` of images that are turned, stretched, slanted and moved at random.

    Each is drawn anew for each epoch, by the seed and the number of the epoch alone. What comes in
    from outside the image is black. Give it to `model.fit` with `shuffle=False`: it shuffles
    itself.

    Args:
        images: float32, (images, H, W, C).
        labels: integers, (images,).
        batch_size: images in a batch; what is left at the end of an epoch waits for the next.
        seed: an integer.
        turn: largest angle, in degrees.
        stretch: largest change of the width, and of the height, as a share.
        slant: largest shift of the upper edge against the middle, as a share of half the height.
        move: largest shift along each side, in pixels.

    Raises:
        ValueError: if there are fewer images than a batch holds, or not as many labels.
    """

    def __init__(
        self,
        images,
        labels,
        batch_size,
        seed,
        turn=10.0,
        stretch=0.1,
        slant=0.1,
        move=1.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if len(images) != len(labels) or not 1 <= batch_size <= len(images):
            raise ValueError(
                "There must be a label for each image, and images for a batch. "
                f"Received: {len(images)} images, {len(labels)} labels, batch_size={batch_size}"
            )
        self.images = images
        self.labels = labels
        self.batch_size = batch_size
        self.seed = seed
        self.turn = turn
        self.stretch = stretch
        self.slant = slant
        self.move = move
        self.set_epoch(0)

    def set_epoch(self, epoch):
        """Goes to an epoch, the first being 0."""
        self.epoch = epoch
        self._order = np.random.default_rng((self.seed, epoch)).permutation(len(self.images))

    def on_epoch_end(self):
        self.set_epoch(self.epoch + 1)

    def __len__(self):
        return len(self.images) // self.batch_size

    def __getitem__(self, index):
        rows = self._order[index * self.batch_size : (index + 1) * self.batch_size]
        random = np.random.default_rng((self.seed, self.epoch, index))
        matrices, shifts = self._draw(random, len(rows))
        return transform_images(self.images[rows], matrices, shifts), self.labels[rows]

    def _draw(self, random, count):
        """`count` random 2x2 matrices and shifts."""
        angle = np.radians(random.uniform(-self.turn, self.turn, count))
        slant = random.uniform(-self.slant, self.slant, count)
        height, width = 1 + random.uniform(-self.stretch, self.stretch, (2, count))
        zero = np.zeros(count)
        turn = _matrices(np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle))
        matrices = turn @ _matrices(height, zero, slant, width)
        return matrices, random.uniform(-self.move, self.move, (count, 2))


def transform_images(images, matrices, shifts):
    """Reads images at other places: at matrix · (place - centre) + centre + shift.

    Args:
        images: float32, (B, H, W, C).
        matrices: (B, 2, 2), for places as (row, column).
        shifts: (B, 2), in pixels.

    Returns:
        float32, (B, H, W, C), interpolated linearly; black where there is no image.
    """
    batch, height, width, _ = images.shape
    centre = np.array([height - 1, width - 1]) / 2
    places = np.indices((height, width)).reshape(2, -1).T - centre
    places = places @ matrices.transpose(0, 2, 1) + centre + shifts[:, None]  # (B, HW, 2)
    # A black frame catches what lies outside; what lies further is no different.
    places = np.clip(places + 1, 0, [height + 1, width + 1])
    framed = np.pad(images, ((0, 0), (1, 2), (1, 2), (0, 0)))
    corner = places.astype("int32")
    y, x = np.moveaxis((places - corner)[..., None].astype("float32"), 2, 0)
    row, column = np.moveaxis(corner, 2, 0)
    each = np.arange(batch)[:, None]
    upper = framed[each, row, column] * (1 - x) + framed[each, row, column + 1] * x
    lower = framed[each, row + 1, column] * (1 - x) + framed[each, row + 1, column + 1] * x
    return (upper * (1 - y) + lower * y).reshape(images.shape)


def _matrices(a, b, c, d):
    """(B,) each -> (B, 2, 2)."""
    return np.stack([np.stack([a, b], axis=-1), np.stack([c, d], axis=-1)], axis=-2)
